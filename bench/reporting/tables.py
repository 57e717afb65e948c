"""Results as Markdown tables, and a sentence about the machine on which they were measured."""

from __future__ import annotations

import os
import platform
import textwrap
from collections.abc import Sequence
from datetime import UTC, datetime

#: Characters of a line of prose.
WIDTH = 120


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table. The first column and columns without a head are text, the others numbers."""
    lines = [heads, ["---", *("---:" if head else "---" for head in heads[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def paragraph(text: str, indent: str = "") -> str:
    """Prose in lines as long as the documentation's; those after the first are indented."""
    return textwrap.fill(text, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def machine() -> str:
    """The machine and the date, in one sentence."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {gigabytes:.0f} GB of memory, {platform.machine()}, "
        f"Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}."
    )
