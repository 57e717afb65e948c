"""Results as Markdown tables, and a sentence about the machine on which they were measured."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table. The first column and columns without a head are text, the others numbers."""
    lines = [heads, ["---", *("---:" if head else "---" for head in heads[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine() -> str:
    """The machine and the date, in one sentence."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {gigabytes:.0f} GB of memory, {platform.machine()}, "
        f"Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}."
    )
