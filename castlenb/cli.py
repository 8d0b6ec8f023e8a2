"""``castlenb search | compare | measure | read | capture | verify | doctor | cleared | mcp | lab | demo``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import Lab, bridge, capture, captures, compare, display, measure, search, verify
from .asked import MAX_RESULTS
from .browser import Browser
from .doctor import Examination
from .engines import ENGINES, RECENCIES, EngineError
from .engines import engine as engine_named
from .errors import CastleError, SearchError, TargetError
from .mcp import serve
from .results import SearchPage
from .snapshot import Capture, PathLike
from .study.records import VALID_OUTCOMES
from .target import resolve_target

if TYPE_CHECKING:
    import pandas as pd

OK, FAILED, BAD_USE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code: 0 done, 1 failed (in part), 2 bad use, 130 interrupted."""
    args = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = args.command
    try:
        return command(args)
    except (CastleError, ValueError) as failed:
        print(f"castlenb: {failed}", file=sys.stderr)
        return BAD_USE if isinstance(failed, EngineError) or not isinstance(failed, CastleError) else FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our output has left
        return FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="castlenb", description="Searches through a Chrome that is already running.")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, command: Callable[[argparse.Namespace], int], about: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=about, description=about)
        made.set_defaults(command=command)
        return made

    one = add("search", _search, "Search, and print the results.")
    one.add_argument("-e", "--engine", default="google", choices=list(ENGINES), help="which engine (default google)")
    _add_search(one).add_argument("--text", action="store_true", help="as an agent reads it: 15,000 bytes at most")

    many = add(
        "compare",
        _compare,
        "Search several engines at once, and print who lists what. Exits with 1 where one of them failed.",
    )
    many.add_argument(
        "-e",
        "--engines",
        type=_engines,
        default=list(ENGINES),
        metavar="NAME,NAME",
        help=f"which of {', '.join(ENGINES)}, with commas between (default: all)",
    )
    _add_search(many)

    times = add(
        "measure",
        _measure,
        "Measure when engines show results and AI answers, and print a table. Exits with 1 where no trial was valid.",
    )
    times.add_argument("queries", nargs="*", metavar="QUERY", help="each in quotes (default: three of ours)")
    times.add_argument(
        "-e", "--engines", type=_engines, default=list(ENGINES), metavar="NAME,NAME", help="which (default: all)"
    )
    times.add_argument("--repeats", type=int, default=3, metavar="N", help="how often each query is asked (default 3)")
    times.add_argument(
        "--horizon", type=float, default=15.0, metavar="S", help="seconds each page is watched (default 15)"
    )
    times.add_argument("--seed", type=int, default=0, metavar="N", help="of the order (default 0)")
    times.add_argument(
        "--journal", metavar="FILE", help="where every trial is written at once; one that is there is resumed"
    )
    _add_target(times)

    saved = add("read", _read, "Read saved results pages, with the reader that a live search uses.")
    saved.add_argument("files", nargs="+", metavar="FILE", help="captures, HTML, or HTML in gzip")
    saved.add_argument("-e", "--engine", choices=list(ENGINES), help="whose pages they are (default: the page tells)")
    saved.add_argument("--url", help="the address they had")
    saved.add_argument("--json", action="store_true", help="one JSON object a line")
    _add_target(saved, "the Chrome to read them in (default: a throwaway Chromium)")

    kept = add("capture", _capture, "Search, and keep the page itself, redacted, for castlenb read and replays.")
    kept.add_argument("query", nargs="+", help="as typed into a search box")
    kept.add_argument("-e", "--engine", default="google", choices=list(ENGINES), help="which engine (default google)")
    kept.add_argument("-o", "--output", default=".", metavar="PATH", help="a file, or a folder (default: this one)")
    kept.add_argument("--hl", default="en", help="language of the page (default en)")
    kept.add_argument("--gl", help="country of the results, two letters")
    kept.add_argument("--no-ai", action="store_true", help="do not wait for the engine's AI answer")
    kept.add_argument("--budget", type=float, default=6.0, metavar="S", help="seconds to wait for it (default 6)")
    kept.add_argument("--deadline", type=float, default=40.0, metavar="S", help="seconds (default 40)")
    _add_target(kept)

    ill = add("doctor", _doctor, "Say which Chrome would be used, whether it answers, and how engines stand with us.")
    ill.add_argument(
        "--report", metavar="FILE", help="write a report that is fit to share, as JSON, in place of saying it"
    )
    _add_target(ill)

    done = add(
        "cleared", _cleared, "Say that a person has cleared what an engine showed, so that it may be asked again."
    )
    done.add_argument("engine", choices=list(ENGINES), help="which engine")
    _add_target(done)

    tool = add("mcp", _mcp, "Serve castle_cdp_search to an agent that speaks MCP, over stdio unless told otherwise.")
    tool.add_argument("--http", type=int, metavar="PORT", help="over HTTP on 127.0.0.1, at /mcp (0: any free port)")
    tool.add_argument(
        "--verdict",
        type=_text,
        metavar="FILE",
        help="text of a study's verdict on AI answers, to be told the agent in place of ours",
    )
    _add_target(tool)
    checked = add(
        "verify",
        _verify,
        "Check every hook that a search relies on, on live or saved pages. Exits with 1 where one has drifted.",
    )
    checked.add_argument("files", nargs="*", metavar="FILE", help="saved pages to check in place of the live ones")
    checked.add_argument(
        "-e",
        "--engines",
        type=_engines,
        metavar="NAME,NAME",
        help=f"which of {', '.join(ENGINES)}, with commas between (default: all)",
    )
    checked.add_argument("--json", action="store_true", help="one JSON object")
    _add_target(checked, "the Chrome to use (default: BU_CDP_HTTP, …; for files a throwaway Chromium)")

    stage = add("lab", _lab, "Start a throwaway Chromium with engines of our own making, until interrupted.")
    stage.add_argument("--scenario", default="2026-08-04", help="what the engines play (default 2026-08-04)")

    add("demo", _demo, "Search the lab through a real Chromium and show what comes out.")
    return parser


def _text(file: str) -> str:
    try:
        return Path(file).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as unreadable:
        raise argparse.ArgumentTypeError(f"{file} can not be read: {unreadable}") from None


def _engines(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        try:
            engine_named(name)
        except EngineError as unknown:
            raise argparse.ArgumentTypeError(f"{unknown}; name them with commas between and no blanks") from None
    return names


def _add_search(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """The arguments that a search has on any engine; returns those that say in which form it is printed."""
    parser.add_argument("query", nargs="+", help="as typed into a search box")
    parser.add_argument(
        "-n", "--num-results", type=int, default=10, metavar="N", help=f"1 to {MAX_RESULTS} (default 10)"
    )
    parser.add_argument("--recency", choices=RECENCIES, help="only what is as new as this")
    parser.add_argument("--hl", default="en", help="language of the page (default en)")
    parser.add_argument("--gl", help="country of the results, two letters")
    parser.add_argument("--ai", action="store_true", help="wait for the engine's AI answer as well")
    parser.add_argument(
        "--budget", type=float, default=6.0, metavar="S", help="seconds to wait for it after the results (default 6)"
    )
    parser.add_argument("--deadline", type=float, default=20.0, metavar="S", help="seconds (default 20)")
    _add_target(parser)
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="one JSON object")
    return forms


def _add_target(parser: argparse.ArgumentParser, about: str = "the Chrome to use (default: BU_CDP_HTTP, …)") -> None:
    parser.add_argument("--target", metavar="T", help=about)


def _search(args: argparse.Namespace) -> int:
    page = search(" ".join(args.query), engine=args.engine, **_search_options(args))
    print(json.dumps(page.to_dict(), ensure_ascii=True) if args.json else page.to_text() if args.text else repr(page))
    return OK


def _compare(args: argparse.Namespace) -> int:
    found = compare(" ".join(args.query), engines=args.engines, **_search_options(args))
    if args.json:
        said = {
            "query": found.query,
            "pages": [page.to_dict() for page in found.pages],
            "agreement": _records(found.agreement),
            "failures": _records(found.failures),
        }
        print(json.dumps(said, ensure_ascii=True))
    else:
        print(found)
    return FAILED if found.errors else OK


def _measure(args: argparse.Namespace) -> int:
    run = measure(
        args.queries or None,
        engines=args.engines,
        repeats=args.repeats,
        horizon_s=args.horizon,
        seed=args.seed,
        journal=args.journal,
        browser=args.target,
    )
    print(run.latency_table().T.to_string())
    for objection in run.check():
        print(textwrap.fill(objection, 110, initial_indent="- ", subsequent_indent="  "))
    return OK if run.trials["outcome"].isin(VALID_OUTCOMES).any() else FAILED


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame, times as ISO 8601."""
    rows: list[dict[str, Any]] = json.loads(table.to_json(orient="records", date_format="iso"))
    return rows


def _search_options(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "num_results": args.num_results,
        "recency": args.recency,
        "hl": args.hl,
        "gl": args.gl,
        "ai_answer": args.ai,
        "budget_s": args.budget,
        "deadline_s": args.deadline,
        "browser": args.target,
    }


def _read(args: argparse.Namespace) -> int:
    return bridge.run(_read_all(args))


async def _read_all(args: argparse.Namespace) -> int:
    failed = False
    async for file, found in captures.read_each(args.files, engine=args.engine, url=args.url, browser=args.target):
        failed = failed or not isinstance(found, SearchPage)
        if args.json:
            line = json.dumps(_file_as_json(file, found), ensure_ascii=True)
        elif isinstance(found, SearchPage):
            line = f"{file}\n{found!r}\n"
        else:
            line = f"{file}\n{type(found).__name__}: {found}\n"
        print(line, flush=True)
    return FAILED if failed else OK


def _file_as_json(file: PathLike, found: SearchPage | CastleError) -> dict[str, Any]:
    if isinstance(found, SearchPage):
        return {"file": os.fspath(file), **found.to_dict(), "error": None}
    return {
        "file": os.fspath(file),
        "engine": None,
        "page_state": "error",
        "challenge_kind": None,
        "results": [],
        "answer": None,
        "warnings": [],
        "error": f"{type(found).__name__}: {found}",
    }


def _capture(args: argparse.Namespace) -> int:
    try:
        kept = capture(
            " ".join(args.query),
            engine=args.engine,
            ai_answer=not args.no_ai,
            budget_s=args.budget,
            hl=args.hl,
            gl=args.gl,
            deadline_s=args.deadline,
            browser=args.target,
        )
        print(kept.save(args.output))
    except SearchError as refused:
        # The page is wanted all the same, and then the most.
        saved = f"\nthe page itself is kept in {refused.capture.save(args.output)}" if refused.capture else ""
        print(f"castlenb: {refused}{saved}", file=sys.stderr)
        return FAILED
    except OSError as failed:
        print(f"castlenb: {failed}", file=sys.stderr)
        return FAILED
    print(f"{len(kept.growth)} frames of its answer; taken out: {_taken_out(kept)}", file=sys.stderr)
    return OK


def _taken_out(kept: Capture) -> str:
    counts: dict[str, int] = {}
    for each in kept.redacted:
        counts[each["what"]] = counts.get(each["what"], 0) + each["count"]
    return ", ".join(f"{what} {count}" for what, count in counts.items()) or "nothing"


def _verify(args: argparse.Namespace) -> int:
    found = verify(engines=args.engines, captures=args.files or None, browser=args.target)
    if args.json:
        said = {"checks": _records(found.checks), "repairs": _records(found.repairs), "lines": found.lines()}
        print(json.dumps(said, ensure_ascii=True))
    else:
        print(found)
    return OK if found.holds else FAILED


def _doctor(args: argparse.Namespace) -> int:
    try:
        target = resolve_target(args.target)
    except TargetError as wrong:
        print(f"target      none: {wrong}")
        return FAILED
    found = Examination(target)
    if args.report:
        Path(args.report).write_text(found.report() + "\n", "utf-8")
        print(f"{args.report} holds no address, no name and nothing that was searched for; look it over, and share it")
    else:
        for name, said in found.lines():
            print(f"{name:<12}{said}")
    return OK if found.wrong is None else FAILED


def _cleared(args: argparse.Namespace) -> int:
    target = resolve_target(args.target)
    known = Browser(target).cleared(args.engine)
    print(
        f"{args.engine} may be asked again at {target}" if known else f"{args.engine} was in no cool-down at {target}"
    )
    return OK


def _mcp(args: argparse.Namespace) -> int:
    serve(target=args.target, http_port=args.http, verdict=args.verdict)
    return OK


def _lab(args: argparse.Namespace) -> int:
    with Lab(args.scenario) as lab:
        print(f"The lab is open, playing {args.scenario!r}. Elsewhere:\n")
        print(f"    BU_CDP_HTTP={lab.web.target} castlenb search pour over coffee")
        print(f"    BU_CDP_HTTP={lab.web.target} castlenb compare pour over coffee\n")
        print("Ctrl-C closes it.", flush=True)
        threading.Event().wait()
    return OK


def _demo(args: argparse.Namespace) -> int:
    query = "pour over coffee ratio"
    print("A search and a comparison, through a real headless Chromium, on fake engines of the lab's.", flush=True)
    with Lab() as lab:
        page = search(query, browser=lab.browser)
        print(f"\n>>> page = castlenb.search({query!r})")
        print(f">>> page.results   # {len(_DEMO_COLUMNS)} of its {len(page.results.columns)} columns\n")
        print(display.table_text(_DEMO_COLUMNS, [[row[name] for name in _DEMO_COLUMNS] for row in page.records]))
        print("\n>>> page.timings   # milliseconds\n")
        for name, ms in page.timings.items():
            if ms is not None:
                print(f"{name:<22}{ms:>6.0f}")
        page = search("who makes the best pour over kettle", ai_answer=True, browser=lab.browser)
        print('\n>>> castlenb.search("who makes the best pour over kettle", ai_answer=True).answer\n')
        for line in str(page.answer).splitlines():
            print(textwrap.fill(line, 110, break_long_words=False, break_on_hyphens=False))
        print(f"\n>>> print(castlenb.compare({query!r}))\n", flush=True)
        print(compare(query, browser=lab.browser))
    return OK


_DEMO_COLUMNS = ("rank", "site", "date", "title")


if __name__ == "__main__":
    sys.exit(main())
