"""The templates, and the rules by which texts of other people get into a page.

Each text that a template prints goes through `inert` and is escaped: there is no way around either.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from clockwork_client.console import shapes, words
from clockwork_client.inert import inert
from clockwork_client.version import __version__

HERE = Path(__file__).parent
#: A longer text is cut: nobody reads it in a page.
LONGEST = 64 * 1024


def environment() -> Environment:
    """The templates, with the functions that they call."""
    found = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.globals.update(w=words, shapes=shapes, pretty=pretty, address=address, at=at, version=__version__)
    return found


def shown(value: Any) -> Any:
    """A value as a template prints it. Texts have their invisible characters spelled out; markup is the template's."""
    if value is None:
        return ""
    return inert(value, LONGEST, keep="\n\t") if type(value) is str else value


def pretty(value: Any) -> str:
    """A payload on many lines."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)
    except RecursionError:
        return "nested too deep to be shown"
    most = LONGEST - 100
    return text if len(text) <= most else text[:most] + f"\n… and {len(text) - most:,} characters more"


def at(*segments: str) -> str:
    """A path of the console. An id of the API is one segment of it."""
    return "/" + "/".join(quote(one, safe="", errors="replace") for one in segments)


def address(path: str, **query: object) -> str:
    """A path of the console with a query; what is empty is left out."""
    given = {name: value for name, value in query.items() if value not in ("", None, False)}
    return f"{path}?{urlencode(given, errors='replace')}" if given else path
