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
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.releases import Release
from clockwork.ports import Executions, Jobs, Refused, ReleaseQueue, Saved

log = logging.getLogger(__name__)

T = TypeVar("T")
R = TypeVar("R")
P = TypeVar("P")


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
        """All together; if that raises, each alone. A record that is stored already counts as saved."""
        return _for_each(self._inner.save, changes, self._refused)

    def get(self, execution_refs: Sequence[tuple[str, str]]) -> Sequence[Execution | Unreadable | None]:
        """All together; if that raises a defect, each alone. Raises Unavailable."""
        return _for_each(self._inner.get, execution_refs, self._unreadable)

    def _unreadable(self, execution_ref: tuple[str, str], error: Exception) -> Unreadable:
        return self._unreadable_item(error, execution_ref[1])

    def _refused(self, change: tuple[Execution | None, Execution], error: Exception) -> Saved:
        return Saved(ok=False, unavailable=why(self._faults, error, change[1].execution_id))


class ContainedJobs(_Contained[Jobs]):
    """`ports.Jobs` whose reads answer for each job, whatever one of them raises."""

    def get(self, job_refs: Sequence[tuple[str, str]]) -> Sequence[NamedJob | Unreadable | None]:
        """All together; if that raises a defect, each alone. Raises Unavailable."""
        return _for_each(self._inner.get, job_refs, self._unreadable)

    def _unreadable(self, job_ref: tuple[str, str], error: Exception) -> Unreadable:
        return self._unreadable_item(error, job_ref[0])


class ContainedReleases(_Contained[ReleaseQueue]):
    """`ports.ReleaseQueue` whose sends answer for each release, whatever one of them raises."""

    def send(self, releases: Sequence[Release], now: int) -> Sequence[Refused]:
        """All together; if that raises, each alone, but nothing behind a refused release of the same ordering key."""
        try:
            return self._inner.send(releases, now)
        except Exception as error:  # noqa: BLE001 - whatever one release raises, the others are sent
            if len(releases) == 1:
                # For good: a poller records it as DEAD and goes on, where to wait for it would stop its whole shard.
                return [Refused(0, not isinstance(error, ClockworkError), self._why(error, releases[0]))]
        return self._send_alone(releases, now)

    def _why(self, error: Exception, release: Release) -> str:
        return why(self._faults, error, release.execution_id)

    def _send_alone(self, releases: Sequence[Release], now: int) -> list[Refused]:
        refused: list[Refused] = []
        blocked: set[tuple[str, str]] = set()
        for index, release in enumerate(releases):
            key = release.occurrence.client_id, release.occurrence.ordering_key or ""
            if key in blocked:
                refused.append(Refused(index, False, "a release before it in its order was refused"))
                continue
            answers = [msgspec.structs.replace(one, index=index) for one in self.send([release], now)]
            refused += answers
            if release.occurrence.ordering_key is not None and any(not one.permanent for one in answers):
                blocked.add(key)
        return refused


def _for_each(
    call: Callable[[Sequence[T]], Sequence[R]], items: Sequence[T], failed: Callable[[T, Exception], R]
) -> Sequence[R]:
    """The answers of a call about many items; if it raises, of a call about each, or what `failed` makes of it."""
    try:
        return call(items)
    except Exception as error:  # noqa: BLE001 - whatever one item raises, the others are answered
        if len(items) == 1:
            return [failed(items[0], error)]
    return [answer for item in items for answer in _for_each(call, [item], failed)]
