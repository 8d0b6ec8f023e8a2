"""A throwaway headless Chromium: for demos, tests and reading saved pages.

It is the only browser castlenb ever starts, it never touches the one a person runs, and nothing of it outlives the
Python process: not its processes, not its profile, not even when Python is killed.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ..errors import LabError

NOWHERE = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
"""Resolver rules under which every name but loopback's fails without a packet being sent."""


class Chromium:
    """A headless Chromium of our own, as a context manager.

    All methods may be called from any thread. After :meth:`kill` or :meth:`stop` it can be started again, on the
    same port.

    Args:
        resolver_rules: ``--host-resolver-rules``; ``None`` means :data:`NOWHERE`.
        trusted_keys: base64 SHA-256 hashes of the certificates' public keys to be trusted (of the leaf: the key of
            the authority that signed it is not looked at, measured on Chromium 156).
        port: of the DevTools endpoint on 127.0.0.1; 0 lets Chromium choose one at the first start.
        args: further command-line switches.
        start_timeout: seconds until the endpoint must be there.

    Attributes:
        port: the DevTools port in use.
        pid: process id of the browser process last started; 0 before.
        profile: the temporary profile directory; gone after :meth:`stop`.
    """

    def __init__(
        self,
        *,
        resolver_rules: str | None = None,
        trusted_keys: Sequence[str] = (),
        port: int = 0,
        args: Sequence[str] = (),
        start_timeout: float = 30.0,
    ) -> None:
        self.resolver_rules = NOWHERE if resolver_rules is None else resolver_rules
        self.trusted_keys = tuple(trusted_keys)
        self.port = port
        self.args = tuple(args)
        self.start_timeout = start_timeout
        self.pid = 0
        self.profile = Path()
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._sign: Path | None = None

    @property
    def target(self) -> str:
        """The endpoint as ``connect()`` takes it, such as ``127.0.0.1:41234``."""
        return f"127.0.0.1:{self.port}"

    @property
    def running(self) -> bool:
        """Whether the browser process is alive."""
        process = self._process
        return process is not None and process.poll() is None

    def start(self, *, keep_profile: bool = False) -> None:
        """Start it and wait for its DevTools endpoint.

        Args:
            keep_profile: go on with the profile of a Chromium that was killed, as a person would after a crash.

        Raises:
            LabError: there is no Chromium to start, or it did not open its endpoint in time; the message ends with
                its own last words.
        """
        with self._lock:
            if self.running:
                return
            program = find_chromium()
            self.kill()
            if not (keep_profile and self.profile.is_absolute() and self.profile.is_dir()):
                self._remove_profile()
                self.profile = _new_profile()
            with contextlib.suppress(FileNotFoundError):
                (self.profile / "DevToolsActivePort").unlink()
            try:
                self._launch(program)
                self.port = self._wait_for_endpoint()
                self._register()
            except BaseException:
                self.stop()
                raise

    def stop(self) -> None:
        """End it, asking first, and remove its profile. Bounded (a few seconds); calling it again does nothing."""
        with self._lock:
            if self._process is not None and self.running and sys.platform != "win32":
                self._process.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(2.0)
            self.kill()
            self._remove_profile()

    def kill(self) -> None:
        """SIGKILL every process of it, as a crash or a recycling would. The profile stays, for a restart."""
        with self._lock:
            if self._process is not None:
                _kill_group(self._process)
                self._reap()

    def last_words(self, lines: int = 8) -> str:
        """The end of what it wrote to stderr since the profile was made; complaints about a missing D-Bus left out."""
        try:
            text = self._stderr.read_text("utf-8", "replace")
        except OSError:
            return ""
        return "\n".join([line for line in text.splitlines() if line.strip() and ":ERROR:dbus/" not in line][-lines:])

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _register(self) -> None:
        """Tells every castlenb of this user that what listens on the port is a lab's, and has its own state folder."""
        import platformdirs

        said = {"pid": self.pid, "folder": str(self.profile / "castlenb-state")}
        self._sign = platformdirs.user_state_path("castlenb") / "labs" / str(self.port)
        with contextlib.suppress(OSError):
            self._sign.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._sign.write_text(json.dumps(said), "utf-8")

    @property
    def _stderr(self) -> Path:
        return self.profile / "lab-stderr.txt"

    def _launch(self, program: str) -> None:
        with open(self._stderr, "ab") as stderr:
            self._heard = stderr.tell()
            self._process = subprocess.Popen(
                [program, *self._switches(), "about:blank"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                env=self._environment(),
                start_new_session=True,
            )
        self.pid = self._process.pid
        _started.add(self)
        self._guard = _guard(self.pid, self.profile)

    def _switches(self) -> Iterator[str]:
        yield f"--user-data-dir={self.profile}"
        yield f"--remote-debugging-port={self.port}"
        yield f"--host-resolver-rules={self.resolver_rules}"
        if self.trusted_keys:
            yield f"--ignore-certificate-errors-spki-list={','.join(self.trusted_keys)}"
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            yield "--no-sandbox"
        yield from _SWITCHES
        yield from self.args

    def _environment(self) -> dict[str, str]:
        environment = dict(os.environ)
        if sys.platform == "linux":
            # Chromium leaves a directory behind in TMPDIR even when it ends well. A socket lives in it, and socket
            # paths are limited to 107 characters.
            if len(str(self.profile)) < 60:
                (self.profile / "tmp").mkdir(exist_ok=True)
                environment["TMPDIR"] = str(self.profile / "tmp")
            environment["DBUS_SESSION_BUS_ADDRESS"] = environment["DBUS_SYSTEM_BUS_ADDRESS"] = "disabled:"
        return environment

    def _wait_for_endpoint(self) -> int:
        process = self._process
        assert process is not None
        end = time.monotonic() + self.start_timeout
        while time.monotonic() < end:
            if (port := self._endpoint()) is not None:
                return port
            if process.poll() is not None:
                code = process.returncode
                raise LabError(f"the lab's Chromium ended at once (exit code {code}):\n{self.last_words()}")
            time.sleep(0.01)
        raise LabError(
            f"the lab's Chromium opened no DevTools endpoint within {self.start_timeout:g} s:\n{self.last_words()}"
        )

    def _endpoint(self) -> int | None:
        """The port, once Chromium has said that it listens.

        The file is written for a port of Chromium's choosing only. For a given port its own word on stderr counts,
        not an answer at the port: somebody else's Chrome may be there.
        """
        if not self.port:
            with contextlib.suppress(OSError):
                lines = (self.profile / "DevToolsActivePort").read_text().split("\n")
                if len(lines) > 1 and lines[1]:
                    return int(lines[0])
            return None
        said = self._stderr.read_bytes()[self._heard :]
        if f"DevTools listening on ws://127.0.0.1:{self.port}/".encode() in said:
            return self.port
        # Where the port is taken it may listen on [::1] instead.
        if b"DevTools listening on" in said or b"Cannot start http server for devtools" in said:
            raise LabError(f"port {self.port} is taken:\n{self.last_words()}")
        return None

    def _reap(self) -> None:
        process, self._process = self._process, None
        guard, self._guard = self._guard, None
        if guard is not None:
            guard.kill()
            guard.wait()
            if guard.stdin is not None:
                guard.stdin.close()
        if process is not None:
            process.wait()
        _started.discard(self)

    def _remove_profile(self) -> None:
        if self._sign is not None:
            with contextlib.suppress(OSError):
                self._sign.unlink()
            self._sign = None
        profile, self.profile = self.profile, Path()
        if not profile.is_absolute():
            return
        for _ in range(20):  # On Windows files stay locked for a moment after their process has ended.
            shutil.rmtree(profile, ignore_errors=True)
            if not profile.exists():
                return
            time.sleep(0.1)


def find_chromium() -> str:
    """Path of a Chromium, Chrome or Edge that may be started.

    ``CASTLENB_CHROMIUM`` first, then the usual names on ``PATH``, then the usual places of macOS and Windows.

    Raises:
        LabError: there is none; says what to install.
    """
    if chosen := os.environ.get("CASTLENB_CHROMIUM"):
        if found := shutil.which(chosen):
            return found
        raise LabError(f"CASTLENB_CHROMIUM names {chosen!r}, which is no program that can be started")
    for found in (*map(shutil.which, _NAMES), *map(shutil.which, _usual_places())):
        if found:
            return found
    raise LabError(
        "no Chromium was found to start. Install one (Debian: apt install chromium; macOS: brew install --cask "
        "chromium; Windows: winget install Google.Chrome) or put its path into CASTLENB_CHROMIUM"
    )


# Settings that no switch reaches. On a name that does not resolve, Chromium asks two name servers for google.com, past
# all resolver rules (seen in the net log of Chromium 156); where the system's name server is a known one, it tries the
# same one's HTTPS service.
_SETTINGS = {
    "Default/Preferences": '{"alternate_error_pages": {"enabled": false}}',
    "Local State": '{"dns_over_https": {"mode": "off"}}',
}
_SWITCHES = (
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    # Media routing looks for television sets by multicast; the others fetch models and lists.
    "--disable-features=MediaRouter,DialMediaRouteProvider,OptimizationHints,Translate",
    "--mute-audio",
    "--no-pings",
    "--password-store=basic",
    "--use-mock-keychain",
)
_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)
_started: weakref.WeakSet[Chromium] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for chromium in list(_started):
        chromium.stop()


def _new_profile() -> Path:
    profile = Path(tempfile.mkdtemp(prefix="castlenb-lab-"))
    for name, text in _SETTINGS.items():
        (profile / name).parent.mkdir(exist_ok=True)
        (profile / name).write_text(text)
    return profile


def _usual_places() -> list[str]:
    if sys.platform == "darwin":
        folders = ("/Applications", os.path.expanduser("~/Applications"))
        names = ("Chromium", "Google Chrome", "Microsoft Edge")
        return [f"{folder}/{name}.app/Contents/MacOS/{name}" for folder in folders for name in names]
    if sys.platform == "win32":
        variables = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")
        programs = [rf"{maker}\Application\chrome.exe" for maker in ("Chromium", r"Google\Chrome")]
        programs.append(r"Microsoft\Edge\Application\msedge.exe")
        return [rf"{os.environ[name]}\{program}" for name in variables if name in os.environ for program in programs]
    return []


def _guard(group: int, profile: Path) -> subprocess.Popen[bytes] | None:
    """A shell that waits for our end of a pipe to close, which it does when Python dies, however it dies.

    The kernel's own parent-death signal is no good here: it is sent when the *thread* that started a process ends.
    """
    if os.name != "posix":
        return None
    script = 'read -r _; kill -KILL "-$1"; sleep 0.2; rm -rf "$2"'
    return subprocess.Popen(
        ["/bin/sh", "-c", script, "castlenb-lab-guard", str(group), profile],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL a session leader and what it started; return when they are gone, or after 2 s."""
    if sys.platform == "win32":
        subprocess.run(["taskkill", "/T", "/F", "/PID", str(process.pid)], capture_output=True, check=False)
        return
    # A group's id is not given to anybody else while a member of it lives.
    end = time.monotonic() + 2.0
    while _members(process.pid) and time.monotonic() < end:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        time.sleep(0.005)


def _members(group: int) -> list[int]:
    """Live processes of a group. Zombies do not count: a container's first process may leave orphans unreaped."""
    if sys.platform == "win32":
        return []
    if sys.platform != "linux":
        try:
            os.killpg(group, 0)
        except (ProcessLookupError, PermissionError):
            return []
        return [group]
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                state, _, process_group = (entry / "stat").read_text().rpartition(")")[2].split()[:3]
                if int(process_group) == group and state not in "ZX":
                    members.append(int(entry.name))
    return members
