"""The output: tables for people, JSON for programs. Texts of other people cannot act on the terminal."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from clockwork_client.answers import Answer, Target, place_of
from clockwork_client.cli.tables import Column, coloured, layout
from clockwork_client.inert import WIDEST, inert

if TYPE_CHECKING:
    from clockwork_client.cli.state import State
    from clockwork_client.results import Schedule

_LONGEST_FACT = 2_000
_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def when(moment: datetime | None, now: datetime) -> str:
    """An instant in the user's zone with its distance: `2027-01-31 09:00:00 CET (in 4 min)`."""
    if moment is None:
        return ""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z} ({distance((moment - now).total_seconds())})"


def at(state: State, moment: datetime | None) -> str:
    """The same for a table, with as much of the date as it takes: `09:00 (in 4 min)`, `31 Jan 09:00 (in 65 d)`."""
    now = state.now
    if moment is None or state.is_wide:
        return when(moment, now)
    there, here = moment.astimezone(), now.astimezone()
    form = "%H:%M" if there.date() == here.date() else "%d %b %H:%M" if there.year == here.year else "%Y-%m-%d %H:%M"
    return f"{there:{form}} ({distance((moment - now).total_seconds())})"


def local(state: State, text: str) -> str:
    """The local time of a fire, as the API tells it: `Fri 05 Mar 2027 03:00 +0100`; as it came in the output `wide`."""
    try:
        return text if state.is_wide else f"{datetime.fromisoformat(text):%a %d %b %Y %H:%M %z}"
    except ValueError:
        return text


def distance(seconds: float) -> str:
    """`in 4 min`, `3 h ago`, `now`: in the largest unit, rounded."""
    whole = round(abs(seconds))
    for size, unit in _UNITS:
        if whole >= size:
            count = (whole + size // 2) // size
            return f"in {count} {unit}" if seconds > 0 else f"{count} {unit} ago"
    return "now"


def schedule(found: Schedule | None, now: datetime) -> str:
    """A schedule in a few words."""
    if found is None:
        return ""
    if found.cron is not None:
        return f"cron {found.cron} {found.timezone or 'UTC'}"
    if found.every is not None:
        return f"every {duration(found.every.seconds)}"
    return when(found.at, now) if found.at is not None else f"{duration(found.delay_seconds or 0)} after its creation"


def duration(seconds: float) -> str:
    """A duration in its largest whole unit: `90 s`, `2 h`."""
    for size, unit in _UNITS:
        if seconds >= size and seconds % size == 0:
            return f"{seconds // size:g} {unit}"
    return f"{seconds:g} s"


def ms(value: float | None) -> str:
    """Milliseconds: `240 ms`, `3.2 s`, `12 min`."""
    if value is None:
        return ""
    if value < 1_000:
        return f"{value:.0f} ms"
    return f"{value / 1_000:.1f} s" if value < 60_000 else distance(value / 1_000).removeprefix("in ")


def target(found: Target | None) -> str:
    """A target in a few words."""
    return "" if found is None else f"{found.type} {place_of(found)}"


def place(found: Target | None) -> str:
    """The same for a table: of a webhook the URL alone, which says that it is one."""
    return target(found).removeprefix("http ").removeprefix("https://")


def table(state: State, columns: Sequence[Column | str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table that fits the terminal, or is whole where there is none."""
    found = [column if isinstance(column, Column) else Column(column) for column in columns]
    shown = [place for place, column in enumerate(found) if state.is_wide or not column.is_wide]
    cells = [[inert(row[place]) for place in shown] for row in rows]
    if not cells and is_terminal():
        said("Nothing was found.")
        return
    made = layout([found[place] for place in shown], cells, None if state.is_wide else width())
    click.echo(made.head())
    is_lit = is_coloured()
    for row in cells:
        click.echo(made.line(row, is_coloured=is_lit))


def width() -> int | None:
    """The width of the terminal; None if a program or a file reads the output."""
    return shutil.get_terminal_size().columns if is_terminal() else None


def is_terminal() -> bool:
    """Whether somebody looks at the output."""
    return sys.stdout.isatty()


def is_coloured() -> bool:
    """Whether states have colours: https://no-color.org has the rule of NO_COLOR."""
    return is_terminal() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def lines(texts: Iterable[str]) -> None:
    """Print each text on a line of its own."""
    for text in texts:
        click.echo(inert(text))


def facts(state: State, pairs: Iterable[tuple[str, object]]) -> None:
    """Print names with their values, without those that are empty. The value of `state` has its colour.

    A very long value is cut, unless the output is `wide`.
    """
    present = [(name, value) for name, value in pairs if value not in (None, "", (), {}, [])]
    most = max((len(name) for name, _ in present), default=0)
    is_lit = is_coloured()
    for name, value in present:
        text = value if isinstance(value, str) else compact(value)
        text = inert(text, len(text) if state.is_wide else _LONGEST_FACT)
        click.echo(f"{inert(name):<{most}}  {coloured(text) if name == 'state' and is_lit else text}")


def compact(value: Any) -> str:
    """A value of JSON on one line."""
    return json.dumps(value, ensure_ascii=False, default=_plain)


def give(state: State, value: Any) -> None:
    """Print an answer for a program, in ASCII, so that nothing in it can act on a terminal.

    As `jsonl` each item of a list, or of an answer with `items`, is a line.
    """
    if state.output != "jsonl":
        click.echo(_ascii(json.dumps(value, indent=2, default=_plain)))
        return
    items = value.get("items", [value]) if isinstance(value, dict) else value
    for one in items if isinstance(items, list) else [value]:
        give_line(one)


def give_line(value: Any) -> None:
    """Print an answer for a program on one line."""
    click.echo(_ascii(json.dumps(value, default=_plain)))


def give_each(state: State, items: Iterable[Answer]) -> None:
    """Print a list for a program, item by item as they come."""
    if state.output == "jsonl":
        for item in items:
            give_line(item.raw)
        return
    separator = "[\n"
    for item in items:
        click.echo(separator + _ascii(json.dumps(item.raw, default=_plain)), nl=False)
        separator = ",\n"
    click.echo("[]" if separator == "[\n" else "\n]")


def can_ask() -> bool:
    """Whether a user can answer a question."""
    return sys.stdin.isatty()


def said(*lines: str, whole: bool = False) -> None:
    """Print a note beside the result, on standard error. Each line stays one line.

    `whole`: cut no line, so that the user can copy it.
    """
    for line in lines:
        click.echo(inert(line, len(line) if whole else WIDEST), err=True)


def _ascii(text: str) -> str:
    """JSON that Python has made ASCII, without the one control character that Python leaves unchanged."""
    return text.replace("\x7f", "\\u007f")


def _plain(value: Any) -> Any:
    if isinstance(value, Answer):
        return value.raw
    return list(value) if isinstance(value, (tuple, set)) else dict(value)
