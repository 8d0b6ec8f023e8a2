"""``castlenb search | compare | read | doctor | lab | demo``."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from . import Lab, bridge, captures, compare, connect, search
from .answer import AIAnswer
from .captures import PathLike
from .engines import ENGINES, RECENCIES
from .errors import CastleError, EndpointError, TargetError
from .serp import MAX_RESULTS, SearchPage
from .several import Comparison
from .target import resolve_target

OK, FAILED, BAD_USE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit code: 0 done, 1 failed, 2 bad use, 130 interrupted."""
    args = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = args.command
    try:
        return command(args)
    except (CastleError, ValueError) as failed:
        print(f"castlenb: {failed}", file=sys.stderr)
        return BAD_USE if isinstance(failed, ValueError) and not isinstance(failed, CastleError) else FAILED
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
    one.add_argument("-e", "--engine", default="google", choices=list(ENGINES))
    _add_search(one)

    many = add("compare", _compare, "Search several engines at once, and print who lists what.")
    many.add_argument("-e", "--engines", default=",".join(ENGINES), help="names with commas between (default: all)")
    _add_search(many)

    saved = add("read", _read, "Read saved results pages, with the reader that a live search uses.")
    saved.add_argument("files", nargs="+", metavar="FILE", help="HTML, or HTML in gzip")
    saved.add_argument("-e", "--engine", choices=list(ENGINES), help="whose pages they are (default: the page tells)")
    saved.add_argument("--url", help="the address they had")
    saved.add_argument("--json", action="store_true", help="one JSON object a line")
    _add_target(saved, "the Chrome to read them in (default: a throwaway Chromium)")

    _add_target(add("doctor", _doctor, "Say which Chrome would be used, who decided it, and whether it answers."))

    stage = add("lab", _lab, "Start a throwaway Chromium with engines of our own making, until interrupted.")
    stage.add_argument("--scenario", default="2026-08-04", help="what the engines play (default 2026-08-04)")

    add("demo", _demo, "Search the lab through a real Chromium and show what comes out.")
    return parser


def _add_search(parser: argparse.ArgumentParser) -> None:
    """The arguments that a search has on any engine."""
    parser.add_argument("query", nargs="+", help="as typed into a search box")
    parser.add_argument(
        "-n", "--num-results", type=int, default=10, metavar="N", help=f"1 to {MAX_RESULTS} (default 10)"
    )
    parser.add_argument("--recency", choices=RECENCIES, help="only what is as new as this")
    parser.add_argument("--hl", default="en", help="language of the page (default en)")
    parser.add_argument("--gl", help="country of the results")
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
    found = compare(" ".join(args.query), engines=args.engines.split(","), **_search_options(args))
    if args.json:
        pages = [_as_json(page) for page in found.pages]
        failures = json.loads(found.failures.to_json(orient="records"))
        print(json.dumps({"query": found.query, "pages": pages, "failures": failures}, ensure_ascii=True))
    else:
        print(_comparison_text(found))
    return FAILED if found.errors else OK


def _comparison_text(found: Comparison) -> str:
    """Who lists what, how far they agree, and who failed and why."""
    parts = []
    if found.pages:
        parts.append(found.targets.drop(columns="url").to_string(index=False, na_rep="-", max_colwidth=60))
    if len(found.pages) > 1:
        parts.append(found.agreement.to_string(index=False, na_rep="-", float_format="{:.2f}".format))
    parts += [str(error) for error in found.errors.values()]
    return "\n\n".join(parts)


def _search_options(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "num_results": args.num_results,
        "recency": args.recency,
        "hl": args.hl,
        "gl": args.gl,
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


def _doctor(args: argparse.Namespace) -> int:
    try:
        target = resolve_target(args.target)
    except TargetError as wrong:
        print(f"target      none: {wrong}")
        return FAILED
    print(f"target      {target}")
    print(f"decided by  {target.decided_by}")
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
        print(f"    BU_CDP_HTTP={lab.web.target} castlenb search pour over coffee\n")
        print("Ctrl-C closes it.", flush=True)
        threading.Event().wait()
    return OK


def _demo(args: argparse.Namespace) -> int:
    with Lab() as lab:
        page = search("pour over coffee ratio", browser=lab.browser)
        print("One search, through a real headless Chromium, on an engine of the lab's:\n")
        print(page)
        print("\nWhen things came, in milliseconds:\n")
        for name, value in page.timings.items():
            print(f"    {name:<22}{'-' if value is None else f'{value:.1f}':>8}")
        print("\nThe same as a DataFrame:\n")
        print(page.results[["rank", "title", "site", "link_form"]].to_string(index=False, max_colwidth=60))
    return OK


if __name__ == "__main__":
    sys.exit(main())
