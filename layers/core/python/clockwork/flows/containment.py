"""Containment: whatever one item raises ends with that item.

An item is the work of one message, row, record or client. Its fault must never end the batch, the visit or the sweep
in which it is met, since the others in it belong to other clients. A foreseen fault (`ClockworkError`) speaks for
itself. Any other is a defect: it is counted and logged by its type and place, never by its text, which may quote a URL
or a payload.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from traceback import extract_tb
from typing import Any, Generic, TypeVar

import msgspec

from clockwork.domain.errors import ClockworkError, Unavailable, Undecodable, Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.releases import Release
from clockwork.domain.timeline import Row
from clockwork.ports import Executions, Jobs, Refused, ReleaseQueue, Saved, Timeline

log = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")
P = TypeVar("P")


#: Releases of one piece, if all together raised: one batch of SQS, so that no piece is taken in part.
PIECE = 10


class Faults:
    """How many defects were contained in one Lambda environment since they were last told."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, _error: Exception) -> None:
        """Count one."""
        self._count += 1

    def take(self) -> int:
        """The count, which begins anew."""
        count, self._count = self._count, 0
        return count

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
    where = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in extract_tb(error.__traceback__)]
    extra = {"action": "fault_contained", "about": str(about), "error": type(error).__name__, "where": where}
    log.error("a fault is contained", extra=extra)
    return f"internal fault: {type(error).__name__}"


@contextmanager
def contained(faults: Faults, fail: Callable[[str], object], about: object = "") -> Iterator[None]:
    """Leave the block if it raises anything, and tell `fail` why."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - this is where faults of any kind end
        fail(why(faults, error, about))


class _Contained(Generic[P]):
    """A port whose calls about many items answer for each item. All other calls pass through."""

    def __init__(self, inner: P, faults: Faults) -> None:
        self._inner = inner
        self._faults = faults

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _unreadable_item(self, error: Exception, about: str) -> Unreadable:
        """The answer for one item of a read; an outage is the answer for all, and is raised."""
        if isinstance(error, Unavailable):
            raise error
        return Undecodable(why(self._faults, error, about))


class ContainedExecutions(_Contained[Executions]):
    """`ports.Executions` whose saves and reads answer for each record, whatever one of them raises."""

    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        """All together; if that raises, by halves. A record that is stored already counts as saved."""
        return _for_each(self._save, changes, self._refused)

    def _save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        saves = self._inner.save(changes)
        for one in saves:
            if one.is_defect:
                self._faults.add(ValueError(one.unavailable))
        return saves

    def get(self, execution_refs: Sequence[tuple[str, str]]) -> Sequence[Execution | Unreadable | None]:
        """All together; if that raises a defect, by halves. Raises Unavailable."""
        return _for_each(self._inner.get, execution_refs, self._unreadable)

    def _unreadable(self, execution_ref: tuple[str, str], error: Exception) -> Unreadable:
        return self._unreadable_item(error, execution_ref[1])

    def _refused(self, change: tuple[Execution | None, Execution], error: Exception) -> Saved:
        reason = why(self._faults, error, change[1].execution_id)
        return Saved(ok=False, unavailable=reason, is_defect=not isinstance(error, Unavailable))


class ContainedJobs(_Contained[Jobs]):
    """`ports.Jobs` whose reads answer for each job, whatever one of them raises."""

    def get(self, job_refs: Sequence[tuple[str, str]]) -> Sequence[NamedJob | Unreadable | None]:
        """All together; if that raises a defect, by halves. Raises Unavailable."""
        return _for_each(self._inner.get, job_refs, self._unreadable)

    def _unreadable(self, job_ref: tuple[str, str], error: Exception) -> Unreadable:
        return self._unreadable_item(error, job_ref[0])


class ContainedReleases(_Contained[ReleaseQueue]):
    """`ports.ReleaseQueue` whose sends answer for each release, whatever one of them raises."""

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        """All together; if that raises, in pieces, and of a piece that raises each alone.

        Nothing is sent behind a release of the same ordering key that was refused for now.
        """
        try:
            return self._inner.send(releases, now, *([aligned] if aligned else []))
        except Exception as error:  # noqa: BLE001 - whatever one release raises, the others are sent
            if len(releases) == 1:
                # For good: a poller records it as DEAD and goes on, where to wait for it would stop its whole shard.
                return [Refused(0, not isinstance(error, ClockworkError), self._why(error, releases[0]))]
        return self._send_in_pieces(releases, now, aligned, PIECE if len(releases) > PIECE else 1)

    def _why(self, error: Exception, release: Release) -> str:
        return why(self._faults, error, release.execution_id)

    def _send_in_pieces(
        self, releases: Sequence[Release], now: int, aligned: Aligned | None, size: int
    ) -> list[Refused]:
        refused: list[Refused] = []
        blocked: set[tuple[str, str]] = set()
        for start in range(0, len(releases), size):
            piece = range(start, min(start + size, len(releases)))
            held = [index for index in piece if _order_of(releases[index]) in blocked]
            refused += [Refused(index, False, "a release before it in its order was refused") for index in held]
            going = [index for index in piece if index not in held]
            answers = self.send([releases[index] for index in going], now, aligned) if going else ()
            for one in answers:
                index = going[one.index]
                refused.append(msgspec.structs.replace(one, index=index))
                if not one.permanent and releases[index].occurrence.ordering_key is not None:
                    blocked.add(_order_of(releases[index]))
        return sorted(refused, key=lambda one: one.index)


def _order_of(release: Release) -> tuple[str, str]:
    return release.occurrence.client_id, release.occurrence.ordering_key or ""


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


def _for_each(
    call: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], failed: Callable[[T, Exception], R]
) -> Sequence[R]:
    """The answers of a call about many items; if it raises, of a call about each half of them, and so on.

    An item for which a call about it alone raises gets what `failed` makes of that, and all do if the store is
    Unavailable. The call may be repeated. So a few odd ones among 500 cost some ten calls each, and not 500.
    """
    try:
        return call(items)
    except Unavailable as error:
        return [failed(item, error) for item in items]
    except Exception as error:  # noqa: BLE001 - whatever one item raises, the others are answered
        if len(items) == 1:
            return [failed(items[0], error)]
    half = len(items) // 2
    return [*_for_each(call, items[:half], failed), *_for_each(call, items[half:], failed)]
