"""The tool for agents without any Chrome: what it says of itself, and what it makes of arguments."""

from __future__ import annotations

import builtins
from typing import Any

import mcp
import pytest
from mcp import types

import castlenb as cn
from castlenb import cli
from castlenb.mcp import NAME, SCHEMA, search_options, serve, tool_server

NOBODY = "127.0.0.1:1"


async def call(arguments: dict[str, Any], name: str = NAME) -> tuple[bool, str]:
    async with mcp.Client(tool_server(NOBODY)) as client:
        result = await client.call_tool(name, arguments)
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return result.is_error, content.text


async def test_one_tool_that_says_what_it_is_for() -> None:
    async with mcp.Client(tool_server(NOBODY)) as client:
        [tool] = (await client.list_tools()).tools
        instructions = client.instructions or ""
    assert tool.name == "castle_cdp_search"
    assert list(tool.input_schema["properties"]) == ["query", "numResults", "recency", "engine", "aiAnswer"]
    for said in (tool.description or "", instructions):
        assert "A snippet is a search engine's excerpt, not the page" in said
        assert "text that the engine itself generates" in said
        assert "stop searching" in said
        assert "Ask for aiAnswer only when" in said


async def test_a_studys_verdict_takes_the_place_of_ours() -> None:
    verdict = "Ask Google, never Brave:\n  it is worth 2 s of 3."
    async with mcp.Client(tool_server(NOBODY, verdict)) as client:
        said = client.instructions or ""
    assert "- Ask Google, never Brave: it is worth 2 s of 3.\n" in said
    assert "Ask for aiAnswer only when" not in said


def test_arguments_under_the_names_of_search() -> None:
    given = {"query": "tea", "numResults": 5.0, "recency": None, "engine": "brave", "aiAnswer": True}
    assert search_options(given) == {"query": "tea", "num_results": 5, "engine": "brave", "ai_answer": True}
    assert set(SCHEMA["properties"]) == set(given)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "query is missing"),
        ({"query": None}, "query is missing"),
        ({"query": "  "}, "query is empty"),
        ({"query": 7}, "query has to be a string, not 7"),
        ({"query": "tea", "numResults": 0}, "from 1 to 20"),
        ({"query": "tea", "numResults": 21}, "from 1 to 20"),
        ({"query": "tea", "numResults": 2.5}, "numResults has to be a whole number"),
        ({"query": "tea", "numResults": True}, "numResults has to be a whole number"),
        ({"query": "tea", "recency": "decade"}, "recency has to be one of day"),
        ({"query": "tea", "engine": "altavista"}, "there are google, bing"),
        ({"query": "tea", "aiAnswer": "yes"}, "aiAnswer has to be true or false"),
        ({"query": "tea", "pages": 3}, "unknown arguments: pages. There are query, numResults"),
    ],
)
async def test_arguments_that_make_no_sense(arguments: dict[str, Any], said: str) -> None:
    failed, text = await call(arguments)
    assert failed
    assert said in text


async def test_a_chrome_that_is_not_there() -> None:
    failed, text = await call({"query": "tea"})
    assert failed
    assert text.startswith("EndpointUnreachable: http://127.0.0.1:1 (chosen by")


async def test_another_tools_name() -> None:
    failed, text = await call({"query": "tea"}, "web_search")
    assert failed
    assert "castle_cdp_search" in text


async def test_a_fault_of_ours_is_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*args: object, **kwargs: object) -> None:
        raise KeyError("rank")

    monkeypatch.setattr(cn.aio, "search", broken)
    failed, text = await call({"query": "tea"})
    assert failed
    assert text == "A fault of castlenb's: KeyError: 'rank'"


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    real = builtins.__import__

    def lacking(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] in ("mcp", "mcp_types") and not rest[-1]:  # ours is imported with a level
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(cn.CastleError, match=r'pip install "castlenb\[mcp\]"'):
        serve()
    assert cli.main(["mcp"]) == 1
    assert "castlenb mcp needs the MCP SDK" in capsys.readouterr().err
