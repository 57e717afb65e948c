"""The promises of a named job's rows: which instants may start, must end, must be told. It knows no closing.

Rows are read for what their clients asked: the definition, the state, the boundary of a change, and its reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

import msgspec

from clockwork.domain.named_jobs import Definition, JobState, NamedJob
from clockwork.domain.recurrence import next_occurrence
from tests.simulation.zones import Zones

#: No schedule pauses for longer between two fires (ms).
LONGEST_BEAT_MS = 2 * 3_600_000
#: The reason that a client gives for a pause that is to end what waits, too.
CANCELLING = "it ends what waits"


@dataclass(frozen=True)
class Fires:
    """The fires of one timing, as far as it is in force: due instants by base instant, and how many came before.

    `after_base`: the base instant behind which they begin. `open`: due instants of which nothing is promised.
    """

    due: dict[int, int]
    after_base: int
    before: int = 0
    open: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Event:
    """The change by one row, with its boundary."""

    kind: str
    boundary_at: int
    fires: Fires
    row: NamedJob


def events_of(rows: Sequence[NamedJob], zones: Zones | None = None) -> list[Event]:
    """The events behind the rows of one incarnation, in order."""
    zones = zones or Zones()
    events = [Event("begin", rows[0].boundary_at, _begun(rows[0], zones), rows[0])]
    paused_at: int | None = None
    for before, after in pairwise(rows):
        kind, boundary_at, fires = _kind(before, after), after.boundary_at, events[-1].fires
        divides_at = boundary_at if paused_at is None else paused_at
        if kind in ("move", "beat"):
            base_at = _behind(fires, before, boundary_at, zones) if kind == "beat" else None
            fires = _begun(after, zones, base_at, boundary_at)
        elif kind == "bounds":
            fires = _continued(fires, before, after, divides_at, zones)
        events.append(Event(kind, boundary_at, fires, after))
        paused_at = _paused_at(paused_at, events[-1])
    return events


def is_legit(events: Sequence[Event], due_at: int, *, is_started: bool) -> bool:
    """Whether an attempt for this instant may start by the last of these events."""
    return _judged(events, due_at, is_started=is_started) == "start"


def promised(events: Sequence[Event]) -> Iterator[int]:
    """The instants that have to be delivered, or to end, by these events."""
    left_open = {due_at for event in events for due_at in event.fires.open}
    for due_at in sorted({due for event in events for due in event.fires.due.values()} - left_open):
        if _judged(events, due_at, is_started=False) in ("start", "tell"):
            yield due_at


@dataclass
class _Standing:
    """Where one instant stands after some events: the fires in force for it, and what became of it so far."""

    fires: Fires
    paused_at: int | None = None
    is_told: bool = False
    #: It was to end permanently, unless a later move brings it back.
    is_ended: bool = False

    def after(self, event: Event, due_at: int) -> None:
        """Goes on to the next event."""
        divides_at = event.boundary_at if self.paused_at is None else self.paused_at
        is_new = due_at in event.fires.due.values() and due_at not in self.fires.due.values()
        if event.kind in ("cancel", "pause and cancel") and due_at <= divides_at:
            self.is_ended = True
        elif event.kind == "move":
            is_known = due_at in self.fires.due.values()
            if due_at in event.fires.due.values() or is_known:
                self.is_ended = due_at not in event.fires.due.values()
            self.fires, self.is_told = event.fires, False
        elif event.kind == "beat":
            self._replaced(event, due_at, is_new=is_new)
        elif event.kind == "bounds" and (due_at > divides_at or is_new):
            self.fires, self.is_ended = event.fires, self.is_ended and not is_new
        elif event.kind == "resume" and self.paused_at is not None:
            is_skipped = self.paused_at < due_at < _skipped_until(event, self.paused_at)
            self.is_told = self.is_told or is_skipped
        self.paused_at = _paused_at(self.paused_at, event)

    def _replaced(self, event: Event, due_at: int, *, is_new: bool) -> None:
        if due_at > event.boundary_at or (event.row.definition.at == due_at and is_new):
            self.fires = event.fires
            self.is_ended = self.is_ended and due_at not in event.fires.due.values()
        elif self.paused_at is not None and self.paused_at < due_at in self.fires.due.values():
            self.is_told = True


def _judged(events: Sequence[Event], due_at: int, *, is_started: bool) -> str:
    """`start`: it may, and has to. `tell`: a pause or what replaced it in a pause skips it, visibly. `no`: neither."""
    standing = _Standing(events[0].fires)
    for event in events[1:]:
        if event.kind == "delete":
            return "no"
        standing.after(event, due_at)
    if standing.is_ended:
        return "no"
    if is_started:
        return "start"
    if due_at not in standing.fires.due.values():
        return "no"
    if standing.is_told:
        return "tell"
    return "start" if standing.paused_at is None or due_at <= standing.paused_at else "no"


def _kind(before: NamedJob, after: NamedJob) -> str:
    if after.state is JobState.CANCELLED:
        return "delete"
    if after.state is JobState.PAUSED and after.reason == CANCELLING and before.reason != CANCELLING:
        return "cancel" if before.state is JobState.PAUSED else "pause and cancel"
    if before.state is not after.state:
        return "pause" if after.state is JobState.PAUSED else "resume"
    old, new = before.definition, after.definition
    if old.recurrence is None and new.recurrence is None:
        return "same" if old.at == new.at else "move"
    if old.recurrence is None or new.recurrence is None:
        return "beat"
    if (old.recurrence.every, old.recurrence.cron) != (new.recurrence.every, new.recurrence.cron):
        return "beat"
    return "same" if old.recurrence == new.recurrence else "bounds"


def _paused_at(paused_at: int | None, event: Event) -> int | None:
    """Behind which instant fires are held back after an event."""
    if event.kind in ("pause", "pause and cancel"):
        return event.boundary_at
    if event.kind in ("resume", "delete") or paused_at is None:
        return None
    if event.kind == "beat":
        paused_at = event.boundary_at
    if event.kind == "bounds":
        # Another jitter may bring what the pause held back before the instant of the pause: it is held back still.
        return min([paused_at, *(due_at - 1 for due_at in set(event.fires.due.values()) - event.fires.open)])
    at = event.row.definition.at
    return min(paused_at, at - 1) if event.kind in ("move", "beat") and at is not None else paused_at


def _begun(row: NamedJob, zones: Zones, after_base: int | None = None, boundary_at: int | None = None) -> Fires:
    """The fires of a timing that begins with this row, after its boundary."""
    recurrence, at = row.definition.recurrence, row.definition.at
    if recurrence is None:
        assert at is not None
        return Fires({at: at}, at - 1)
    begins_at = row.created_at if after_base is None else after_base
    due: dict[int, int] = {}
    for base_at, due_at in zones.fires(recurrence, begins_at, row.job_id):
        if boundary_at is not None and due_at <= boundary_at:
            begins_at = begins_at if due else base_at
        elif len(due) < _most(row.definition):
            due[base_at] = due_at
    if boundary_at is not None and not any(base_at <= boundary_at for base_at in due):
        begins_at = max(begins_at, boundary_at)
    return Fires(due, begins_at, open=_open(due, row, zones))


def _continued(fires: Fires, before: NamedJob, after: NamedJob, divides_at: int, zones: Zones) -> Fires:
    """The fires of the same beat in other bounds: those behind the last base that was due."""
    last = _behind(fires, before, divides_at, zones)
    count = fires.before + sum(base_at <= last for base_at in fires.due)
    recurrence = after.definition.recurrence
    assert recurrence is not None
    left = max(0, _most(after.definition) - count)
    due = dict(islice(zones.fires(recurrence, last, after.job_id), left))
    return Fires(due, last, count, _open(due, after, zones))


def _open(due: dict[int, int], row: NamedJob, zones: Zones) -> frozenset[int]:
    return frozenset(at for at in due.values() if zones.is_open(row.definition.recurrence, at))


def _behind(fires: Fires, before: NamedJob, at: int, zones: Zones) -> int:
    """The base behind which other fires go on from those of the row `before`.

    A base that was not among these does not come back, although by its jitter it may be due behind them.
    """
    last = _last_base(before, at, zones)
    return last if before.definition.recurrence is None else max(last, fires.after_base)


def _last_base(row: NamedJob, at: int, zones: Zones) -> int:
    """The last base of the row's beat that was due at or before an instant."""
    recurrence = row.definition.recurrence
    if recurrence is None:
        return at
    endless = msgspec.structs.replace(recurrence, end_at=None, max_fires=None)
    if recurrence.every is None:
        # It begins far enough back for a base before the job.
        fires = zones.fires(endless, row.created_at - LONGEST_BEAT_MS, row.job_id)
        return max(base_at for base_at, due_at in fires if due_at <= at)
    every_ms, anchor_at = recurrence.every.every_ms, recurrence.every.anchor_at
    base_at = anchor_at + (at - anchor_at) // every_ms * every_ms
    if base_at < anchor_at:
        return base_at
    fire = next_occurrence(endless, base_at - 1, 0, row.job_id)
    return base_at if fire is not None and fire.due_at <= at else base_at - every_ms


def _most(definition: Definition) -> int:
    recurrence = definition.recurrence
    return 10**6 if recurrence is None or recurrence.max_fires is None else recurrence.max_fires


def _skipped_until(event: Event, paused_at: int) -> int:
    """The instant that divides what was due in a pause, by the definition with which it ends."""
    definition, resumed_at = event.row.definition, event.boundary_at
    if definition.recurrence is None:
        return paused_at + 1
    window_at = max(paused_at + 1, resumed_at - int(definition.catch_up_window_seconds * 1000))
    if definition.catch_up == "all":
        return window_at
    due = [at for at in event.fires.due.values() if window_at <= at <= resumed_at]
    return max(due) if due and definition.catch_up == "latest" else resumed_at + 1
