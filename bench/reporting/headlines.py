"""The rows of docs/performance.md that the README quotes, word for word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bench.costs.loads import USUAL, USUAL_HEAD

#: The beginnings of these rows, by the first head of the table in which they stand.
HEADLINES = {
    USUAL_HEAD: tuple(says for _, _, says in USUAL),
    "an idle month": ("sum",),
}


def headlines(page: str) -> str:
    """The quoted rows under the heads of their tables, as Markdown."""
    quotes = (_quote(table) for table in _tables(page))
    return "\n\n".join("\n".join(lines) for lines in quotes if lines)


def _quote(table: Sequence[str]) -> Sequence[str]:
    """The quoted rows of one table, with its head; none if it has no headline."""
    first_head = table[0].strip("| ").split(" | ")[0]
    wanted = tuple(f"| {row}" for row in HEADLINES.get(first_head, ()))
    rows = [row for row in table[2:] if row.startswith(wanted)] if wanted else []
    return [*table[:2], *rows] if rows else []


def _tables(page: str) -> Iterator[list[str]]:
    lines: list[str] = []
    for line in [*page.splitlines(), ""]:
        if line.startswith("|"):
            lines.append(line)
        elif lines:
            yield lines
            lines = []
