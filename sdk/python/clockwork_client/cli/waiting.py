"""Wait for executions, and draw lists again and again. No other command sleeps, apart from watches of one thing.

A read without an answer ends no wait: the user is told, and the next look follows. Only a first look that reaches
nothing ends `--watch` and `tail`: the URL is wrong, or no server runs.
"""

from __future__ import annotations

import functools
import io
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from clockwork_client.cli import show, values
from clockwork_client.cli.options import Command
from clockwork_client.cli.shown_execution import progress, show_execution
from clockwork_client.errors import NotCertain, NotFound, NotReached, TooManyRequests
from clockwork_client.states import ENDED

if TYPE_CHECKING:
    from clockwork_client.cli.state import State
    from clockwork_client.results import Execution

T = TypeVar("T")
UNCERTAIN = 3
#: Seconds between two looks at an execution: the shortest, and the longest. They grow with the wait.
_LEAST, _MOST, _GROWTH = 1.0, 30.0, 20.0
#: The cursor at the top left, and nothing below it.
_CLEAR = "\x1b[H\x1b[2J"


def awaited(command: Command) -> Command:
    """A decorator: the command can wait until what it began has ended. It gets the most seconds as `wait`, or None."""

    @click.option("--wait", is_flag=True, help="Until it has ended. Exit status 1 unless it has SUCCEEDED.")
    @click.option("--at-most", type=values.DURATION, help="Wait no longer: 30s, 5m. Exit status 3 then.")
    @functools.wraps(command)
    def run(*args: Any, wait: bool, at_most: float | None, **given: Any) -> Any:
        return command(*args, wait=at_most or float("inf") if wait or at_most else None, **given)

    return run  # type: ignore[return-value]


def wait_for(state: State, look: Callable[[], Execution | None], at_most: float) -> None:
    """Look at an execution until it has ended, and print it. Exits with 1 unless it has SUCCEEDED, with 3 if late."""
    clock, looks, told = state.machine.clock, Looks(is_known=True), ""
    ends_at, began_at = clock() + at_most, clock()
    while True:
        found = looks(lambda: _begun(look))
        if found is not None and found.state in ENDED:
            break
        says = "It has not begun." if found is None else _progress(found)
        if says != told:
            show.said(told := says)
        pause = min(_MOST, max(_LEAST, (clock() - began_at) / _GROWTH))
        if clock() + pause > ends_at:
            show.said(f"Not ended within {show.duration(at_most)}. `clockwork exec get` tells how far it is.")
            raise SystemExit(UNCERTAIN)
        state.machine.sleep(pause)
    show_execution(state, found)
    if found.state != "SUCCEEDED":
        raise SystemExit(1)


def _begun(look: Callable[[], Execution | None]) -> Execution | None:
    """An execution. It has no record before its first attempt begins."""
    try:
        return look()
    except NotFound:
        return None


def _progress(found: Execution) -> str:
    done = f": {progress(found.at_work)}" if found.at_work is not None else ""
    waits = f": {found.waiting.says}" if found.waiting is not None else ""
    return f"{found.state}{done}{waits}"


class Looks:
    """Looks that follow one another. An outage is told once, however many looks fall into it.

    `is_known`: the API has answered before, so that a first look without a connection is an outage as well.
    """

    def __init__(self, *, is_known: bool = False) -> None:
        self._is_away = False
        self._is_known = is_known

    def __call__(self, look: Callable[[], T]) -> T | None:
        """The result of a look; None if no answer came. Raises refusals, and NotReached before any answer."""
        try:
            found = look()
        except (NotCertain, TooManyRequests) as error:
            if isinstance(error, NotReached) and not self._is_known:
                raise
            if not self._is_away:
                show.said(f"No answer: {error}", "The next look follows, until one is answered.")
            self._is_away = True
            return None
        self._is_away, self._is_known = False, True
        return found


def watched(command: Command) -> Command:
    """A decorator: the command can print its list again and again, until Ctrl-C."""

    @click.option("--watch", "-w", is_flag=True, help="Print it anew as it changes, until Ctrl-C.")
    @click.option("--every", type=click.FloatRange(0.5), default=2.0, help="Seconds between looks (2).")
    @functools.wraps(command)
    def run(*args: Any, watch: bool, every: float, **given: Any) -> Any:
        if not watch:
            return command(*args, **given)
        state: State = click.get_current_context().obj
        looks, before = Looks(), None
        try:
            while True:
                drawn = looks(lambda: _captured(command, *args, **given))
                if drawn is not None and drawn != before:
                    click.echo((_CLEAR if show.is_terminal() else "") + drawn, nl=False)
                    before = drawn
                state.machine.sleep(every)
        except KeyboardInterrupt:
            return None

    return run  # type: ignore[return-value]


class _Page(io.StringIO):
    """Takes what would go to the output, and is a terminal if the output is one."""

    def __init__(self, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


def _captured(command: Callable[..., Any], *args: Any, **given: Any) -> str:
    before = sys.stdout
    sys.stdout = page = _Page(before.isatty())
    try:
        command(*args, **given)
    finally:
        sys.stdout = before
    return page.getvalue()
