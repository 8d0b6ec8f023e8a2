"""The front door: what a search does without is not loaded for it, and every name is there all the same."""

import inspect
import subprocess
import sys

import pytest

import castlenb as cn


def test_rooms_that_a_search_does_without_are_loaded_when_they_are_named() -> None:
    code = (
        "import sys, castlenb as cn; late = ('castlenb.study', 'castlenb.selectors');"
        "print([name in sys.modules for name in late], cn.study.__name__, cn.aio.verify.__name__,"
        "[name in sys.modules for name in late])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[False, False] castlenb.study verify [True, True]"


def test_every_name_is_there_and_is_offered() -> None:
    assert set(cn.__all__) <= set(dir(cn))
    assert all(hasattr(cn, name) for name in cn.__all__)
    assert all(hasattr(cn.aio, name) for name in cn.aio.__all__)
    assert cn.measure is cn.measure
    assert "repeats" in inspect.signature(cn.measure).parameters


@pytest.mark.parametrize("module", [cn, cn.aio])
def test_a_name_that_is_none_is_an_attribute_error(module: object) -> None:
    with pytest.raises(AttributeError, match="castlenb has no 'serch'"):
        module.serch  # noqa: B018  # type: ignore[attr-defined]
