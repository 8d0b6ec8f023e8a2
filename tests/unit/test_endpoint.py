"""What may be shown of an address, and the words of the errors that show it."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from castlenb.cdp.endpoint import Endpoint, is_loopback, redact
from castlenb.errors import EndpointError, EndpointRefused, EndpointUnreachable, NotDevTools


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:9222", "http://127.0.0.1:9222"),
        ("127.0.0.1:9222", "127.0.0.1:9222"),
        ("wss://host/pre/fix?token=abc", "wss://host/pre/fix?token=…"),
        ("wss://host?token=abc&launch=1", "wss://host?token=…&launch=…"),
        ("wss://host?token=a=b", "wss://host?token=…"),
        ("wss://host?abc", "wss://host?…"),
        ("wss://host?abc?def&ghi", "wss://host?…&…"),
        ("wss://host?c2VjcmV0==", "wss://host?…"),
        ("https://user:pass@host:1/x", "https://…@host:1/x"),
        ("https://us@er:pa@ss@host:1/x", "https://…@host:1/x"),
        ("https://host/x#token", "https://host/x"),
        ("/home/somebody/profile", "/home/somebody/profile"),
        ("", ""),
    ],
)
def test_an_address_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert redact(url) == shown
    assert redact(shown) == shown


@given(st.text(alphabet="sécret%/+.-"), st.sampled_from(["?token={}", "?token={}==", "?{}", "?{}==", "?a=b&t={}&c"]))
def test_no_query_value_survives(secret: str, form: str) -> None:
    url = "wss://host/path" + form.format(f"S3{secret}")
    assert "S3" not in redact(url)
    assert "S3" not in repr(Endpoint(url))


@pytest.mark.parametrize(
    ("url", "nearby"),
    [
        ("http://127.0.0.1:9222", True),
        ("http://127.8.9.1:9222", True),
        ("ws://localhost:9222/x", True),
        ("ws://a.localhost/x", True),
        ("ws://LOCALHOST/x", True),
        ("ws://[::1]:9222", True),
        ("ws://10.0.0.1:9222", False),
        ("ws://127.0.0.1.example", False),
        ("ws://notlocalhost", False),
        ("ws://[::2]", False),
    ],
)
def test_which_addresses_are_this_machine(url: str, nearby: bool) -> None:
    assert is_loopback(url) is nearby


@pytest.mark.parametrize(
    "error",
    [
        EndpointUnreachable.at(["wss://user:S3CRET@host:1/x?token=S3CRET"] * 2, OSError("because")),
        EndpointUnreachable("wss://user:S3CRET@host:1/x?token=S3CRET", "because"),
        EndpointRefused("wss://user:S3CRET@host:1/x?token=S3CRET", "it", 403, "because"),
        NotDevTools("wss://user:S3CRET@host:1/x?token=S3CRET", "because"),
    ],
)
def test_errors_show_no_secrets_and_survive_pickling(error: EndpointError) -> None:
    assert "S3CRET" not in f"{error} {error!r} {error.args} {vars(error)}"
    assert "host:1" in str(error)
    assert "because" in str(error)
    error.decided_by = "somebody"
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), vars(copy)) == (str(error), vars(error))
