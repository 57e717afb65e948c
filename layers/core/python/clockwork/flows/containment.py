"""Containment: whatever one item raises ends with that item.

An item is the work of one message, row, record or client. Its fault must never end the batch, the visit or the sweep
in which it is met, since the others in it belong to other clients. A foreseen fault (`ClockworkError`) speaks for
itself. Any other is a defect: it is counted and logged by its type and place, never by its text, which may quote a URL
or a payload.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from traceback import extract_tb
from typing import Any, TypeVar

from clockwork.domain.errors import ClockworkError, Unavailable
from clockwork.domain.timeline import Row
from clockwork.ports import Timeline

log = logging.getLogger(__name__)

#: The most frames of a defect that a log line tells.
MOST_FRAMES = 40

T = TypeVar("T")
R = TypeVar("R")


class Count:
    """A count of one Lambda environment since it was last told."""

    def __init__(self) -> None:
        self._count = 0

    def add_one(self) -> None:
        """Count one."""
        self._count += 1

    def take(self) -> int:
        """The count, which begins anew."""
        count, self._count = self._count, 0
        return count


class Faults(Count):
    """The defects that were contained."""

    def add(self, _error: Exception) -> None:
        """Count one."""
        self.add_one()

    def lost(self, action: str, told: str, why_not: str, **extra: str) -> None:
        """Tell of work that ends in the log alone, since neither a queue nor a table takes it.

        `extra` says which, by `executionId` or by the `key` of its row.
        """
        log.error("%s: %s", told, why_not, extra={"action": action, **extra})


def why(faults: Faults, error: Exception, about: object = "") -> str:
    """Why an item fails; a defect is counted and logged, with the item that it is about."""
    if isinstance(error, ClockworkError):
        return str(error)
    faults.add(error)
    log.error("a fault is contained", extra={"action": "fault_contained", "about": str(about), **place_of(error)})
    return f"internal fault: {type(error).__name__}"


def place_of(error: Exception) -> dict[str, Any]:
    """The fields of a log line about a defect: its type and its place, without its text.

    Of an endless recursion the last frames are told: all thousand would be a line of 150 KB.
    """
    frames = extract_tb(error.__traceback__, limit=-MOST_FRAMES)
    where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    return {"error": type(error).__name__, "where": where}


class InvocationFailed(Exception):
    """A defect ended an invocation. The message names its type; the log has its place (action `invocation_failed`)."""


@contextmanager
def without_text() -> Iterator[None]:
    """Raise InvocationFailed in place of a defect, whose text Lambda would write into its log."""
    try:
        yield
    except ClockworkError:
        raise
    except Exception as error:  # noqa: BLE001 - a defect of any kind may quote a payload
        log.error("an invocation fails", extra={"action": "invocation_failed", **place_of(error)})
        raise InvocationFailed(f"internal fault: {type(error).__name__}") from None


class contained(AbstractContextManager[object]):  # noqa: N801 - named as those of contextlib
    """Leave the block if it raises anything, and tell `fail` why.

    `met`: the foreseen errors that are met so; all other ones are raised. It serves any number of blocks.
    """

    def __init__(
        self,
        faults: Faults,
        fail: Callable[[str], object],
        about: object = "",
        met: tuple[type[ClockworkError], ...] = (ClockworkError,),
    ) -> None:
        self._faults, self._fail, self._about, self._met = faults, fail, about, met

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if not isinstance(error, Exception) or (isinstance(error, ClockworkError) and not isinstance(error, self._met)):
            return False
        self._fail(why(self._faults, error, self._about))
        return True


def put_each(timeline: Timeline, faults: Faults, rows: Sequence[Row]) -> dict[int, str]:
    """Put rows that are stored once at most; returns those that are refused for a reason of their own, and why.

    All together; if that raises a defect, each half for itself. Raises Unavailable.
    """
    try:
        timeline.put_new(rows)
    except Unavailable:
        raise
    except Exception as error:  # noqa: BLE001 - whatever one row raises, the others are put
        if len(rows) == 1:
            return {0: why(faults, error, rows[0].key)}
        half = len(rows) // 2
        behind = put_each(timeline, faults, rows[half:])
        return put_each(timeline, faults, rows[:half]) | {half + index: reason for index, reason in behind.items()}
    return {}


def for_each(
    call: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], failed: Callable[[T, Exception], R]
) -> Sequence[R]:
    """The answers of a call about many items; if it raises, of a call about each half of them, and so on.

    An item for which a call about it alone raises gets what `failed` makes of that, and all do if the store is
    Unavailable. The call may be repeated, so that a few odd items among 500 cost some ten calls each, and not 500.
    """
    try:
        return call(items)
    except Unavailable as error:
        return [failed(item, error) for item in items]
    except Exception as error:  # noqa: BLE001 - whatever one item raises, the others are answered
        if len(items) == 1:
            return [failed(items[0], error)]
    half = len(items) // 2
    return [*for_each(call, items[:half], failed), *for_each(call, items[half:], failed)]
