"""Watches named jobs: what starts is wanted by a row that may have been read, and every promised fire ends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import ONLY_RUN, ExecutionId, NamedJobId, decode_execution, decode_job, is_named
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.releases import Delivery
from clockwork.flows.named.write import Written
from clockwork.memory.executions import MemoryExecutions
from tests.simulation.client_pauses import MISSED, ClientPauses
from tests.simulation.named_history import Event, events_of, is_legit, promised
from tests.simulation.order import Order, Placed
from tests.simulation.overlapping import Overlapping
from tests.simulation.scheduler import Scheduler
from tests.simulation.zones import Zones
from tests.support.examples import claim_of

Place = tuple[str, str]
#: The simulator draws no exclusions, which keeps this oracle simple: fires are anchor + n * interval, plus a jitter.
MOST_FIRES = 10_000
FOREVER_MS = 10**12
#: No clock is further off than this (ms).
MOST_SKEW_MS = 1_500


@dataclass
class Answered:
    """The answer to a client about a job: its row, and after a change which attempts may still start all the same."""

    index: int
    job_id: str
    #: The attempts by executionId. None: the answer was not to a change, and lists nothing.
    listed: dict[str, int] | None
    #: The answer promised all fires due from this instant on (ms).
    promises_from: int


@dataclass
class Life:
    """Every row of the job under one key, and the answers about it."""

    truths: list[NamedJob] = field(default_factory=list)
    #: Since when each of them is the truth (ms, true time).
    since: list[int] = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)
    #: Acknowledged executions that were asked for by hand.
    by_hand: set[str] = field(default_factory=set)
    #: Acknowledged backfills: the job, its number of fires, and how often the job had changed before. No result is
    #: promised if the job's timing changes during a backfill.
    backfills: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    zones: Zones = field(default_factory=Zones)
    #: By incarnation and number of rows, for rows are only ever added, and by whether the rules of zones have changed.
    _events: dict[tuple[str, int, bool], list[list[Event]]] = field(default_factory=dict)

    def in_force(self, job_id: str, since: int) -> list[Event]:
        """The events of each row of one incarnation that was the truth after an instant (ms, true time)."""
        rows = [index for index, row in enumerate(self.truths) if row.job_id == job_id]
        last = rows[-1] if rows else 0
        return [self.events(job_id, i)[-1] for i in rows if i == last or self.since[i + 1] >= since]

    def index_of(self, job: NamedJob) -> int | None:
        """The position of a row among all rows, or None."""
        return next((i for i, one in enumerate(self.truths) if one == job), None)

    def events(self, job_id: str, until: int | None = None) -> list[Event]:
        """The events of one incarnation, up to and including the row `until`."""
        return self.events_by_each(job_id, until)[0]

    def events_by_each(self, job_id: str, until: int | None = None) -> list[list[Event]]:
        """The events as `events` has them, and as those have them who go by the rules of before or of after alone.

        Which fire of a pause is the latest, for one, is another one by each.
        """
        count = len(self.truths) if until is None else until + 1
        known = job_id, count, self.zones.is_changed
        if known not in self._events:
            mine = [row for row in self.truths[:count] if row.job_id == job_id]
            follows = any((one := row.definition.recurrence) is not None and one.follows_zone for row in mine)
            zones = self.zones.each if follows else (self.zones,)
            self._events[known] = [events_of(mine, one) if mine else [] for one in zones]
        return self._events[known]


class NamedWatcher:
    """Everything known of named jobs from outside the flows."""

    def __init__(self, scheduler: Scheduler, order: Order, invocation_ms: int) -> None:
        self._scheduler = scheduler
        self.client_pauses = ClientPauses(invocation_ms)
        self._order = order
        self.executions = MemoryExecutions()
        self.zones = Zones()
        self.lives: defaultdict[Place, Life] = defaultdict(lambda: Life(zones=self.zones))
        self.accepted: set[str] = set()
        #: Executions of which an attempt has begun.
        self.started: set[str] = set()
        #: The attempts that have begun.
        self._begun: set[tuple[str, int]] = set()
        #: Executions of which an attempt has begun since they were made or redriven, and which have not ended.
        self._under_way: set[str] = set()
        self._overlapping = Overlapping()
        #: Redriven executions: these may start whatever has become of their job's schedule since.
        self.redriven: set[str] = set()
        #: Executions that may have been redriven as their records have them: whatever has become of their jobs.
        self.as_it_was: set[str] = set()
        #: Executions that the api answered to be cancelled.
        self.cancelled: set[str] = set()
        #: From this instant (ms) on fires of a job, by its id, may be missing: its chain was cut, and perhaps no repair
        #: came before the horizon was beyond the chain's end.
        self.cut_at: dict[str, int] = {}
        #: The keys of the rows that were taken away then.
        self.cut_rows: set[str] = set()

    def changed(self, job: NamedJob) -> None:
        """Notes the row of a job that a store has just saved."""
        life = self.lives[job.client_id, job.job_key]
        if not life.truths or life.truths[-1] != job:
            if life.truths:
                self._order.forget(_execution_of(life.truths[-1]))
            life.truths.append(job)
            life.since.append(self._scheduler.now)

    def answered(self, written: Written, *, is_change: bool = False, promises_from: int = 0) -> str | None:
        """Notes that a client was told the state of a job; returns why the answer is wrong, or None.

        Only the answer to a change tells which earlier attempts of the job may still start.
        """
        life = self.lives[written.job.client_id, written.job.job_key]
        index = life.index_of(written.job)
        if index is None:
            return "it is answered with a row that was never the truth"
        # An answer that says that others may be under way promises nothing of those that it does not list.
        is_whole = is_change and not written.may_be_under_way
        listed = {one.execution_id: one.attempt for one in written.running} if is_whole else None
        life.answered.append(Answered(index, written.job.job_id, listed, promises_from))
        if index == len(life.truths) - 1:
            self._place(life.truths[index])
        return None

    def _place(self, job: NamedJob) -> None:
        """Gives an ordered one-shot its position in the order, from now on."""
        at, wanted = job.definition.at, job.definition
        if job.state is JobState.ACTIVE and at is not None:
            placed = Placed(job.job_id, _execution_of(job), at, wanted.sequence or 0)
            self._order.accepted(job.client_id, wanted.ordering_key, wanted.target, placed, self._scheduler.now)

    def is_outdated(self, execution_id: str) -> bool:
        """Whether the execution's job does not fire at this instant any more, or was deleted."""
        execution = decode_execution(execution_id)
        place = decode_job(execution.job_id)
        assert isinstance(place, NamedJobId)
        truth = self.lives[place.client_id, place.job_key].truths[-1]
        is_same = truth.incarnation == place.incarnation and truth.definition.at == execution.due_at
        return not is_same or truth.state is not JobState.ACTIVE

    def objection(self, delivery: Delivery) -> str | None:
        """The reason why an attempt of a named job must not start, or None."""
        place = decode_job(delivery.job_id)
        if not isinstance(place, NamedJobId):
            return None
        if delivery.execution_id in self.cancelled - self.redriven:
            return "it starts after the answer cancelled"
        life = self.lives[place.client_id, place.job_key]
        execution = decode_execution(delivery.execution_id)
        least = self._least_row(life, delivery)
        rows = [i for i in range(least, len(life.truths)) if self._wants(life, i, execution, delivery.execution_id)]
        was_started = delivery.execution_id in self.started
        begins = delivery.execution_id not in self._under_way and not self._was_lost(delivery)
        self.started.add(delivery.execution_id)
        self._begun.add((delivery.execution_id, delivery.attempt))
        self._under_way.add(delivery.execution_id)
        if delivery.execution_id in self.as_it_was & self.redriven:
            return None
        if rows and all(life.truths[index].definition.overlap == "skip" for index in rows):
            beside = self._beside(delivery, begins=begins)
            if beside is not None:
                return f"it begins although its job is `overlap: skip`, beside {beside}"
        if not rows:
            return f"no row from {least} on wants it (of {len(life.truths)}; started before: {was_started})"
        payload = delivery.occurrence.payload.body
        if payload not in {life.truths[i].definition.payload.body for i in range(least, len(life.truths))}:
            return f"it is delivered by a definition of before row {least}"
        is_first = not was_started and execution.run == ONLY_RUN and delivery.execution_id not in self.redriven
        return self._held_back(life, execution, place.client_id) if is_first else None

    def _beside(self, delivery: Delivery, *, begins: bool) -> str | None:
        """The execution of a job that is under way as an attempt of another one starts, and its state; None if none is.

        No execution begins beside another one that has begun and has not ended: neither during its attempts nor between
        them. A retry may start beside others that wait, and beside no other attempt. A redrive as the record has it
        asks nothing of the job. In an order attempts alone count, since its head does not wait for what lies behind.
        """
        now, mine = self._scheduler.now, self.executions.find(delivery.job_id, delivery.execution_id)
        for other in self.executions.list(delivery.job_id, MOST_FIRES, None):
            is_apart = other.execution_id in self.as_it_was & self.redriven
            if other.execution_id == delivery.execution_id or other.execution_id not in self._under_way or is_apart:
                continue
            has_begun = (other.execution_id, other.attempt) in self._begun
            if other.state is State.RUNNING and has_begun and (claim_of(other).until or 0) > now + 2 * MOST_SKEW_MS:
                return f"{other.execution_id}, which runs"
            is_behind = mine is not None and other.waits.order == mine.waits.order is not None
            if begins and not (is_behind and delivery.occurrence.ordering_key is not None):
                return f"{other.execution_id}, which is {other.state} and has not ended since it began"
        return None

    def _was_lost(self, delivery: Delivery) -> bool:
        """Whether nothing came of an attempt of the execution. It counts as begun: nobody can tell whether it was.

        A worker may have got no answer to its claim.
        """
        stored = self.executions.find(delivery.job_id, delivery.execution_id)
        lost = (State.WORKER_LOST, State.TIMED_OUT)
        return stored is not None and any(one.state in lost for one in stored.attempts)

    def recorded(self, after: Execution) -> None:
        """Notes that a record was stored: what is final has ended."""
        if after.is_final:
            self._under_way.discard(after.execution_id)
        if is_named(after.job_id):
            self._overlapping.recorded(after, self._scheduler.now)

    def overlap_objections(self) -> Iterator[str]:
        """The executions that `overlap: skip` has skipped in vain, once all have ended."""
        skips_since: dict[str, int] = {}
        for life in self.lives.values():
            for row, since in zip(life.truths, life.since, strict=True):
                if row.definition.overlap == "skip":
                    skips_since.setdefault(row.job_id, since)
                else:
                    skips_since.pop(row.job_id, None)
        return self._overlapping.objections(skips_since)

    def _held_back(self, life: Life, execution: ExecutionId, client_id: str) -> str | None:
        """Why a pause of its client, which has ended, keeps a fire from its first start; None if it does not."""
        now, pauses = self._scheduler.now, self.client_pauses
        if self._follows_changed_zone(life):
            return None
        rows = life.in_force(execution.job_id, now - pauses.invocation_ms)
        return pauses.start_objection(client_id, execution.due_at, rows, now)

    def _follows_changed_zone(self, life: Life) -> bool:
        """Whether nobody can tell which fires the job has, since the rules of its zone have changed."""
        recurrences = [row.definition.recurrence for row in life.truths]
        return self.zones.is_changed and any(one is not None and one.follows_zone for one in recurrences)

    def skip_objection(self, before: Execution | None, after: Execution) -> str | None:
        """Why a fire must not end SKIPPED permanently as it just did, or None.

        Stretches of fires are judged as promises. Another execution under way, a pause of its client, and what its job
        became: nothing else skips a fire.
        """
        if after.state is not State.SKIPPED or (before is not None and before.state is State.SKIPPED):
            return None
        place = decode_job(after.job_id)
        if not isinstance(place, NamedJobId) or after.end.skipped is not None or after.end.ended_by is not None:
            return None
        life, execution = self.lives[place.client_id, place.job_key], decode_execution(after.execution_id)
        if not (after.reason or "").startswith(MISSED):
            is_overlapping = any(row.definition.overlap == "skip" for row in life.truths)
            return None if is_overlapping else f"it is skipped for no reason that its client gave: {after.reason}"
        if execution.run != ONLY_RUN:
            return "it was asked for by hand, and is skipped for a pause of its client"
        if before is not None and any(one.state is not State.WORKER_LOST for one in before.attempts):
            return "it was started before, and is skipped for a pause of its client"
        if self._follows_changed_zone(life):
            return None
        since = self.client_pauses.ended_at(place.client_id, execution.due_at)
        rows = life.in_force(execution.job_id, since)
        return self.client_pauses.skip_objection(place.client_id, execution.due_at, rows)

    def lateness_objection(self, after: Execution) -> str | None:
        """Why the lateness of a fire's first attempt, which has just ended, is not the truth; None if it is.

        It counts from the due instant, or from the create or change that asked for it if that came later: a pause of
        its job is a wait as any other.
        """
        execution = decode_execution(after.execution_id)
        place = decode_job(after.job_id)
        is_first = len(after.attempts) == 1 and after.attempts[0].number == 1
        if not isinstance(place, NamedJobId) or execution.run != ONLY_RUN or not is_first:
            return None
        if after.execution_id in self.redriven:
            return None
        rows = [row for row in self.lives[place.client_id, place.job_key].truths if row.job_id == after.job_id]
        asked = {rows[0].created_at}
        for row, following in pairwise(rows):
            is_same = _timing_of(row) == _timing_of(following)
            asked |= set() if is_same else {following.boundary_at}
        (first,) = after.attempts
        since = first.started_at - first.lateness_ms
        if since in {max(after.due_at, at) for at in asked}:
            return None
        return f"it is late from {since} on, not from its due instant {after.due_at}, nor from any of {sorted(asked)}"

    def _wants(self, life: Life, index: int, execution: ExecutionId, execution_id: str) -> bool:
        row = life.truths[index]
        if row.job_id != execution.job_id or not row.is_alive:
            return False
        if execution.run != ONLY_RUN or execution_id in self.redriven:
            return True
        by_both, *by_one = life.events_by_each(row.job_id, index)
        # Once everybody goes by the new rules, those of before alone make no fire legitimate.
        views = (by_both, *by_one) if execution.due_at <= self.zones.settles_at else (by_both,)
        is_started = execution_id in self.started
        return any(is_legit(events, execution.due_at, is_started=is_started) for events in views)

    @staticmethod
    def _least_row(life: Life, delivery: Delivery) -> int:
        """The row from which on one must want the attempt: whoever starts it has read that or a later one."""
        least = next((i for i, row in enumerate(life.truths) if row.job_id == delivery.job_id), 0)
        for answer in life.answered:
            # The next job under a key knows nothing of the executions of the one before.
            if answer.job_id == delivery.job_id and answer.listed is not None:
                is_listed = delivery.attempt <= answer.listed.get(delivery.execution_id, 0)
                least = least if is_listed else max(least, answer.index)
        return least

    def changed_at(self, execution_id: str) -> int | None:
        """When the job of a schedule's execution was last changed (ms), if it never was paused; None for any other one.

        A change may release what is due since, and a pause may hold it back. Where the rules of its zone have changed,
        it may be late.
        """
        execution = decode_execution(execution_id)
        place = decode_job(execution.job_id)
        if not isinstance(place, NamedJobId) or execution.run != ONLY_RUN:
            return None
        rows = [row for row in self.lives[place.client_id, place.job_key].truths if row.job_id == execution.job_id]
        if any(row.state is JobState.PAUSED for row in rows):
            return None
        is_moved = any(row.definition.recurrence is not None and row.definition.recurrence.follows_zone for row in rows)
        if is_moved and self.zones.may_be_late(execution.due_at):
            return None
        return rows[-1].changed_at

    def was_ordered(self, job_id: str) -> bool:
        """Whether a fire of the job may have waited in an order, although its job has none by now."""
        place = decode_job(job_id)
        if not isinstance(place, NamedJobId):
            return False
        rows = self.lives[place.client_id, place.job_key].truths
        return any(row.job_id == job_id and row.definition.ordering_key is not None for row in rows)

    def unsettled(self, apart: str | None = None) -> Iterator[str]:
        """The ids of promised executions that were neither delivered nor ended.

        Those of the client `apart` are left out: a defect may cost a chain its pointer, until the audit of the day.
        """
        for life in (life for (client_id, _), life in self.lives.items() if client_id != apart):
            yield from (e for e in life.by_hand if not self._is_settled(life, e))
            yield from self._unsettled_backfills(life)
            yield from self._unsettled_fires(life)

    def _unsettled_fires(self, life: Life) -> Iterator[str]:
        if not life.truths or not life.truths[-1].is_alive:
            return
        job = life.truths[-1]
        promises = [answer.promises_from for answer in life.answered if answer.index == len(life.truths) - 1]
        if not promises:
            return  # Never acknowledged, so nothing was promised.
        cut_at = self.cut_at.get(job.job_id, job.changed_at + FOREVER_MS)
        records = self.executions.list(job.job_id, MOST_FIRES, None)
        yield from (e.execution_id for e in records if not e.is_final)
        skipped = [e.end.skipped for e in records if e.end.skipped is not None]
        for due_at in promised(life.events(job.job_id)):
            execution_id = str(ExecutionId(job.job_id, due_at, ONLY_RUN))
            is_skipped = any(s.from_at <= due_at <= s.to_at for s in skipped)
            is_promised = min(promises) <= due_at < cut_at
            record = self.executions.find(job.job_id, execution_id)
            # It may start now, so what a pause or a change ended before has to go on.
            is_held = record is not None and record.end.ended_by is not None and record.end.skipped is None
            is_wrong = is_held and is_legit(life.events(job.job_id), due_at, is_started=False)
            if is_promised and not is_skipped and (is_wrong or not self._is_settled(life, execution_id)):
                yield execution_id

    def _unsettled_backfills(self, life: Life) -> Iterator[str]:
        for backfill_id, (job_id, count, changes) in life.backfills.items():
            if any(row.state is JobState.CANCELLED for row in life.truths[changes:]) or _is_retimed(life, changes):
                continue
            recurrence = life.truths[-1].definition.recurrence
            if self.zones.is_changed and recurrence is not None and recurrence.follows_zone:
                continue  # The range may hold another number of fires by the new rules.
            done = {e for e in self.accepted if e.startswith(job_id) and e.endswith(f".{backfill_id}")}
            records = self.executions.list(job_id, MOST_FIRES, None)
            done |= {e.execution_id for e in records if e.is_final and e.execution_id.endswith(f".{backfill_id}")}
            if len(done) < count:
                yield f"{job_id} backfill {backfill_id}: {len(done)} of {count}"

    def _is_settled(self, life: Life, execution_id: str) -> bool:
        job_id = decode_execution(execution_id).job_id
        record: Execution | None = self.executions.find(job_id, execution_id)
        if record is not None:
            return record.is_final
        return execution_id in self.accepted or self._was_deleted(life, job_id)

    @staticmethod
    def _was_deleted(life: Life, job_id: str) -> bool:
        return not life.truths[-1].is_alive or life.truths[-1].job_id != job_id


def _execution_of(job: NamedJob) -> str:
    """The id of the one execution of a job that fires once."""
    return str(ExecutionId(job.job_id, job.definition.at or 0, ONLY_RUN))


def _timing_of(job: NamedJob) -> tuple[object, ...]:
    """The fields that decide when a job fires, and where it lies."""
    wanted = job.definition
    return wanted.at, wanted.recurrence, wanted.ordering_key, wanted.sequence, job.partition_id


def _is_retimed(life: Life, since: int) -> bool:
    """Whether the timing of a job has changed since it had so many rows."""
    rows = life.truths[max(0, since - 1) :]
    timings = {(one.definition.at, one.definition.recurrence, one.definition.ordering_key) for one in rows}
    sequences = {one.definition.sequence for one in rows}
    return len(timings) > 1 or len(sequences) > 1
