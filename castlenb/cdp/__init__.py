"""A DevTools client that has never heard of search."""

from castlenb.cdp.connection import Connection, Session
from castlenb.cdp.endpoint import Endpoint, discover, redact
from castlenb.cdp.tab import Tab, background_tab

__all__ = ["Connection", "Endpoint", "Session", "Tab", "background_tab", "discover", "redact"]
