"""``castlenb search | compare | read | verify | doctor | lab | demo``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from . import Lab, bridge, captures, compare, connect, display, search, verify
from .answer import AIAnswer
from .asked import MAX_RESULTS
from .captures import PathLike
from .engines import ENGINES, RECENCIES, EngineError, overrides, overrides_file
from .engines import engine as engine_named
from .errors import CastleError, EndpointError, TargetError
from .serp import SearchPage
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
    _add_search(one)

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

    saved = add("read", _read, "Read saved results pages, with the reader that a live search uses.")
    saved.add_argument("files", nargs="+", metavar="FILE", help="HTML, or HTML in gzip")
    saved.add_argument("-e", "--engine", choices=list(ENGINES), help="whose pages they are (default: the page tells)")
    saved.add_argument("--url", help="the address they had")
    saved.add_argument("--json", action="store_true", help="one JSON object a line")
    _add_target(saved, "the Chrome to read them in (default: a throwaway Chromium)")

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

    _add_target(add("doctor", _doctor, "Say which Chrome would be used, who decided it, and whether it answers."))

    stage = add("lab", _lab, "Start a throwaway Chromium with engines of our own making, until interrupted.")
    stage.add_argument("--scenario", default="2026-08-04", help="what the engines play (default 2026-08-04)")

    add("demo", _demo, "Search the lab through a real Chromium and show what comes out.")
    return parser


def _engines(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        try:
            engine_named(name)
        except EngineError as unknown:
            raise argparse.ArgumentTypeError(f"{unknown}; name them with commas between and no blanks") from None
    return names


def _add_search(parser: argparse.ArgumentParser) -> None:
    """The arguments that a search has on any engine."""
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
    parser.add_argument("--json", action="store_true", help="one JSON object")
    _add_target(parser)


def _add_target(parser: argparse.ArgumentParser, about: str = "the Chrome to use (default: BU_CDP_HTTP, …)") -> None:
    parser.add_argument("--target", metavar="T", help=about)


def _search(args: argparse.Namespace) -> int:
    page = search(" ".join(args.query), engine=args.engine, **_search_options(args))
    print(json.dumps(_as_json(page), ensure_ascii=True) if args.json else repr(page))
    return OK


def _compare(args: argparse.Namespace) -> int:
    found = compare(" ".join(args.query), engines=args.engines, **_search_options(args))
    if args.json:
        said = {
            "query": found.query,
            "pages": [_as_json(page) for page in found.pages],
            "agreement": _records(found.agreement),
            "failures": _records(found.failures),
        }
        print(json.dumps(said, ensure_ascii=True))
    else:
        print(found)
    return FAILED if found.errors else OK


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
        return {"file": os.fspath(file), **_as_json(found), "error": None}
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


def _as_json(page: SearchPage) -> dict[str, Any]:
    return {
        "engine": page.engine,
        "query": page.query,
        "url": page.url,
        "page_state": page.page_state,
        "challenge_kind": page.challenge_kind,
        "results": [dict(record) for record in page.records],
        "timings": dict(page.timings),
        "answer": _answer_as_json(page.answer) if page.answer else None,
        "warnings": list(page.warnings),
    }


def _answer_as_json(answer: AIAnswer) -> dict[str, Any]:
    return {
        "label": answer.label,
        "state": answer.state,
        "settled_by": answer.settled_by,
        "text": answer.text,
        "language": answer.language,
        "placement": answer.placement,
        "citations": [dict(record) for record in answer.records],
        "warnings": list(answer.warnings),
    }


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
    print(f"target      {target}")
    print(f"decided by  {target.decided_by}")
    print(f"hooks       {overrides_file()}{'' if overrides() else ': sets none'}")
    for each in overrides():
        engine_named(each.engine)  # raises where it speaks of a hook that is not there
        print(f"            {each}")
    try:
        with connect(args.target) as browser:
            print("reachable   yes")
            for name, value in browser.version.items():
                if name in ("Browser", "Protocol-Version", "User-Agent"):
                    print(f"{name.lower():<12}{value}")
    except EndpointError as wrong:
        print(f"reachable   no: {wrong.problem}")
        return FAILED
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
