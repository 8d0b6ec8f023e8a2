"""The lab's page templates: Jinja2, autoescaped, one macro for each part of a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jinja2


def template(name: str) -> Any:
    """The macros of a template, as attributes; each returns finished mark-up."""
    return _environment.get_template(name).module


_environment = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
)
