"""Results as Markdown, and the machine that they were measured on."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table whose first column is text, as is any without a head, and whose others are numbers."""
    lines = [heads, ["---", *("---:" if head else "---" for head in heads[1:])], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def machine() -> str:
    """Where and when, in one sentence."""
    gigabytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{os.cpu_count()} cores, {gigabytes:.0f} GB of memory, {platform.machine()}, "
        f"Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}."
    )
