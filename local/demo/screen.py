"""Shows the demonstration's progress on standard error: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.box import SIMPLE
from rich.console import Console
from rich.live import Live
from rich.table import Table

from local.demo.summary import Row

#: How often a plain log gets a line of the table.
PLAIN_SECONDS = 10
Frame = Callable[[], tuple[Sequence[Row], str]]


class Screen:
    """Shows steps, lines and the table of jobs."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)

    def say(self, line: str) -> None:
        """Print one line as it is, never wrapped, so that it can be copied."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Show a step that takes a while: its title at once, its duration at the end."""
        started = time.monotonic()
        if not self._console.is_terminal:
            self.say(f"{title} ...")
        with self._console.status(title):
            yield
        self.say(f"{title}: {time.monotonic() - started:.1f} s")

    @contextmanager
    def table(self, frame: Frame) -> Iterator[None]:
        """Show the rows and the caption that `frame` returns, again and again, until the end of the block."""
        if self._console.is_terminal:
            with Live(console=self._console, get_renderable=lambda: render(*frame()), refresh_per_second=4):
                yield
            return
        ended = threading.Event()
        thread = threading.Thread(target=self._print_lines, args=(frame, ended), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._console.print(render(*frame()))

    def _print_lines(self, frame: Frame, ended: threading.Event) -> None:
        while not ended.wait(PLAIN_SECONDS):
            shown, caption = frame()
            self.say(f"{caption}; {plain(shown[-1])}")


def plain(row: Row) -> str:
    """A row as a phrase."""
    late = row.lateness
    figures = f"late p50/p99/max {late.p50}/{late.p99}/{late.max} ms" if late else "nothing arrived yet"
    return f"created {row.created}, due {row.due}, delivered {row.delivered}, attempts {row.attempts}, {figures}"


def render(shown: Sequence[Row], caption: str) -> Table:
    """The table for the terminal; its last row is the one of all jobs."""
    title = "Jobs, and how many ms late their first attempts arrived"
    table = Table(title=title, title_justify="left", caption=caption, caption_justify="left", box=SIMPLE)
    for column in ("", "created", "due", "delivered", "attempts", "p50", "p99", "max"):
        table.add_column(column, justify="right" if column else "left", no_wrap=True)
    for row in shown:
        late = (row.lateness.p50, row.lateness.p99, row.lateness.max) if row.lateness else ("", "", "")
        cells = (row.label, row.created, row.due, row.delivered, row.attempts, *late)
        table.add_row(*map(str, cells), end_section=row is shown[-2])
    return table
