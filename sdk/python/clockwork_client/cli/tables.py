"""The layout of a table: columns that fit a width, cut cells that end in an ellipsis, and states in their colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import click

from clockwork_client.states import tone

_GAP, _ELLIPSIS = "  ", "…"
_COLOURS = {"ok": "green", "bad": "red", "run": "cyan", "skip": "bright_black", "wait": "yellow"}


class Column(NamedTuple):
    """A column.

    `least`: the narrowest width that still tells something; 0 if no cell may be cut. `rank`: where the terminal is too
    narrow, the columns of the highest rank go first; those of rank 0 stay. `is_wide`: only in the output `wide`.
    `is_state`: each cell is a state, and has its colour.
    """

    head: str
    least: int = 0
    rank: int = 0
    is_wide: bool = False
    is_state: bool = False


class Layout(NamedTuple):
    """The columns that are shown, as places in a row, with their widths."""

    columns: tuple[Column, ...]
    places: tuple[int, ...]
    widths: tuple[int, ...]

    def head(self) -> str:
        """The line above the rows."""
        return self._line([self.columns[place].head.upper() for place in self.places], [False] * len(self.places))

    def line(self, row: Sequence[str], *, is_coloured: bool) -> str:
        """A row as a line. Its cells hold no control characters."""
        states = [self.columns[place].is_state and is_coloured for place in self.places]
        return self._line([row[place] for place in self.places], states)

    def _line(self, cells: Sequence[str], states: Sequence[bool]) -> str:
        padded = [_padded(cell, width) for cell, width in zip(cells, self.widths, strict=True)]
        found = [coloured(cell) if is_state else cell for cell, is_state in zip(padded, states, strict=True)]
        return _GAP.join(found).rstrip()


def coloured(state: str) -> str:
    """A state, with blanks behind it or none, in its colour."""
    return click.style(state, fg=_COLOURS[tone(state.rstrip())])


def layout(columns: Sequence[Column], rows: Sequence[Sequence[str]], width: int | None) -> Layout:
    """The layout of rows within a width, without columns whose cells are all empty.

    Without a width no cell is cut, and no column is left out: programs count on their places.
    """
    longest = [max((_width(row[place]) for row in rows), default=0) for place in range(len(columns))]
    places = [place for place, most in enumerate(longest) if most or width is None]
    natural = {place: max(longest[place], len(columns[place].head)) for place in places}
    if width is not None:
        while _least(columns, natural, places) > width and (rank := max(columns[one].rank for one in places)):
            places.remove(next(one for one in reversed(places) if columns[one].rank == rank))
        _shrink(columns, natural, places, width)
    return Layout(tuple(columns), tuple(places), tuple(natural[place] for place in places))


def _least(columns: Sequence[Column], natural: dict[int, int], places: Sequence[int]) -> int:
    """The narrowest width of these columns together."""
    narrow = [min(natural[place], columns[place].least or natural[place]) for place in places]
    return sum(narrow) + len(_GAP) * (len(places) - 1)


def _shrink(columns: Sequence[Column], natural: dict[int, int], places: Sequence[int], width: int) -> None:
    """Take from the widest column that may be cut, until all fit or none can give more."""
    over = sum(natural[place] for place in places) + len(_GAP) * (len(places) - 1) - width
    while over > 0:
        can = [place for place in places if columns[place].least and natural[place] > columns[place].least]
        if not can:
            return
        widest = max(can, key=lambda place: natural[place])
        natural[widest] -= 1
        over -= 1


def _padded(cell: str, width: int) -> str:
    if (wide := _width(cell)) <= width:
        return cell + " " * (width - wide)
    from rich.cells import set_cell_size

    return str(set_cell_size(cell, width - 1)) + _ELLIPSIS


def _width(cell: str) -> int:
    """The columns of a terminal that a text takes."""
    if cell.isascii():
        return len(cell)
    from rich.cells import cell_len

    return int(cell_len(cell))
