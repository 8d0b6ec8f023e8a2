"""``%search`` and ``%%searches`` in a real kernel: what they return, what they say, help and completion."""

import pytest
from jupyter_client.blocking import BlockingKernelClient

import castlenb as cn

from .test_kernel import Started, run


@pytest.fixture
def client(kernel: Started, lab: cn.Lab) -> BlockingKernelClient:
    lab.play("instant")
    assert run(kernel[1], f"import os\nos.environ['BU_CDP_HTTP'] = {lab.web.target!r}")["status"] == "ok"
    assert run(kernel[1], "%load_ext castlenb\n%reload_ext castlenb")["status"] == "ok"
    return kernel[1]


def test_a_line_is_a_search(client: BlockingKernelClient, lab: cn.Lab) -> None:
    said = run(client, 'page = %search -n 3 -e bing what\'s a "pour over" -e x\n(page.query, len(page), page.engine)')
    assert said["shown"] == """('what\\'s a "pour over" -e x', 3, 'bing')"""
    assert run(client, "%search tea")["shown"].startswith("SearchPage(google, 'tea', 10 results)")
    asked = run(client, "(page := get_ipython().run_line_magic('search', '--ai --recency week tea')).answer.state")
    assert asked["shown"] == "'settled'"


def test_a_cell_is_many_searches_and_one_frame(client: BlockingKernelClient, lab: cn.Lab) -> None:
    lab.play("no-results", query="nothing")
    cell = "%%searches -n 2\ntea\n\n  coffee \nnothing\n"
    said = run(client, cell)
    assert said["status"] == "ok"
    assert "NoResultsError" in said["shown"], "what failed is not to be seen"
    assert run(client, "_['query'].tolist()")["shown"] == "['tea', 'tea', 'coffee', 'coffee']"
    assert run(client, "%%searches\nnothing")["ename"] == "NoResultsError"


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("%search", "say what to search for"),
        ("%search -n 3", "say what to search for"),
        ("%search -e altavista tea", "invalid choice: 'altavista'"),
        ("%search -n many tea", "invalid int value"),
        ("%%searches -n 3\n \n", "a query a line"),
        ("%%searches tea\ncoffee", "unrecognized arguments: tea"),
    ],
)
def test_bad_use_is_a_sentence_and_no_traceback(client: BlockingKernelClient, cell: str, message: str) -> None:
    said = run(client, cell)
    assert said["status"] == "error"
    assert said["ename"] == "UsageError"
    assert message in said["evalue"]


def test_they_have_help_and_completion(client: BlockingKernelClient) -> None:
    said = run(client, "%search?")
    text = said["payload"][0]["data"]["text/plain"]
    assert "wait for the engine's AI answer" in text
    assert text.count("usage:") == 1

    assert run(client, "%config IPCompleter.use_jedi = False")["status"] == "ok"  # it takes seconds, and is not ours

    def completed(line: str) -> list[str]:
        return [str(each) for each in client.complete(line, reply=True, timeout=20)["content"]["matches"]]

    assert "--recency" in completed("%search --r")
    assert completed("%search -e duck") == ["duckduckgo"]
    assert "month" in completed("%%searches --recency m")
