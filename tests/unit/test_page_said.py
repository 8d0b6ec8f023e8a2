"""What a page's scripts told: halves of characters are made whole, and nothing else is touched."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from castlenb import page


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ('"a\\ud800b"', "a\ufffdb"),
        ('"\\udfff\\uD83d"', "\ufffd\ufffd"),
        ('"\\\\ud800"', "\\ud800"),
        ('"\\\\\\ud800"', "\\\ufffd"),
        ('"\\ud7ff\\ue000 \U0001f642"', "\ud7ff\ue000 \U0001f642"),
    ],
)
def test_halves_of_characters(told: str, text: str) -> None:
    assert page.said(told) == text
    page.said(told).encode()


@given(st.text())
def test_whole_ones_stay(text: str) -> None:
    assert page.said(json.dumps(text, ensure_ascii=False)) == text
