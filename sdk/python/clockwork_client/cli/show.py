"""The output: tables for people, JSON for programs. Texts of other people cannot act on the terminal."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from clockwork_client.answers import Answer, Target, place_of
from clockwork_client.inert import WIDEST, inert

if TYPE_CHECKING:
    from clockwork_client.results import Execution, Schedule

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
#: In a pipe, each row is one line.
_PIPED_WIDTH = 10_000


def when(moment: datetime | None, now: datetime) -> str:
    """An instant in the user's zone with its distance: `2027-01-31 09:00:00 CET (in 4 min)`."""
    if moment is None:
        return ""
    return f"{moment.astimezone():%Y-%m-%d %H:%M:%S %Z} ({distance((moment - now).total_seconds())})"


def distance(seconds: float) -> str:
    """`in 4 min`, `3 h ago`, `now`."""
    for size, unit in _UNITS:
        count = int(abs(seconds) // size)
        if count:
            return f"in {count} {unit}" if seconds > 0 else f"{count} {unit} ago"
    return "now"


def schedule(found: Schedule | None, now: datetime) -> str:
    """A schedule in a few words."""
    if found is None:
        return ""
    if found.cron is not None:
        return f"cron {found.cron} {found.timezone or 'UTC'}"
    if found.every is not None:
        return f"every {found.every.seconds:g} s"
    return when(found.at, now) if found.at is not None else f"{found.delay_seconds or 0:g} s after its creation"


def target(found: Target | None) -> str:
    """A target in a few words."""
    return "" if found is None else f"{found.type} {place_of(found)}"


def execution_row(one: Execution, now: datetime) -> list[str]:
    """The cells of an execution in a list."""
    last = one.attempts[-1] if one.attempts else None
    said = one.reason or (last.error if last is not None else None) or ""
    return [one.execution_id, one.state, when(one.due_at, now), str(len(one.attempts)), said]


EXECUTION_HEADS = ("execution", "state", "due", "attempts", "last word")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table, with no line cut: where the terminal is narrow, cells wrap."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    is_terminal = sys.stdout.isatty()
    found = Table(box=box.SIMPLE_HEAD if is_terminal else None, pad_edge=False, show_edge=False)
    for head in heads:
        found.add_column(head.upper(), overflow="fold")
    for row in rows:
        # A Text is shown as it is: no markup, no emoji, no links are read out of it.
        found.add_row(*(Text(inert(cell)) for cell in row))
    width = shutil.get_terminal_size().columns if is_terminal else _PIPED_WIDTH
    Console(file=sys.stdout, width=width, highlight=False, emoji=False, markup=False).print(found)


def lines(texts: Iterable[str]) -> None:
    """Print each text on a line of its own."""
    for text in texts:
        click.echo(inert(text))


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """Print names with their values, without those that are empty."""
    present = [(name, value) for name, value in pairs if value not in (None, "", (), {})]
    width = max((len(name) for name, _ in present), default=0)
    for name, value in present:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_plain)
        click.echo(f"{inert(name):<{width}}  {inert(text)}")


def as_json(value: Any) -> None:
    """Print JSON in ASCII, so that nothing in it can act on a terminal."""
    click.echo(_ascii(json.dumps(value, indent=2, default=_plain)))


def each_as_json(items: Iterable[Answer]) -> None:
    """Print a JSON array, item by item as they come."""
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
