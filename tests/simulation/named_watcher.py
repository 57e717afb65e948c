"""The watcher of named jobs: nothing fires from a refused or replaced schedule, and every promised fire is settled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from clockwork.domain.executions import Execution
from clockwork.domain.fires.chains import fire_after
from clockwork.domain.ids import ExecutionId, NamedJobId, decode_execution, decode_job
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.releases import Delivery
from clockwork.flows.named.write import Written
from clockwork.memory.executions import MemoryExecutions
from tests.simulation.order import Order, Placed
from tests.simulation.scheduler import Scheduler

Place = tuple[str, str]
#: Exclusions are not drawn, so that this oracle stays simple: fires are anchor + n * interval, and a jitter.
MOST_FIRES = 10_000
FOREVER_MS = 10**12


@dataclass
class Answered:
    """A change that a client was told of: which version stands since, and what else may still start."""

    index: int
    job_id: str
    listed: frozenset[str]
    unseen: bool
    #: Fires due from then on (ms) were promised by it.
    promises_from: int


@dataclass
class Life:
    """All that was ever the truth about one key, and what was answered."""

    truths: list[NamedJob] = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)
    #: Executions that were asked for by hand and acknowledged.
    by_hand: set[str] = field(default_factory=set)
    #: Backfills that were acknowledged: the job, how many fires each has, and how often the job had changed before.
    #: What a backfill comes to when its job's schedule is changed under it is not promised.
    backfills: dict[str, tuple[str, int, int]] = field(default_factory=dict)

    def index_of(self, version: str) -> int | None:
        """When this version was the truth."""
        return next((i for i, job in enumerate(self.truths) if job.version == version), None)


class NamedWatcher:
    """What is known of named jobs from outside the flows."""

    def __init__(self, scheduler: Scheduler, order: Order) -> None:
        self._scheduler = scheduler
        self._order = order
        self.executions = MemoryExecutions()
        self.lives: defaultdict[Place, Life] = defaultdict(Life)
        self.accepted: set[str] = set()
        #: Executions that somebody has delivered after all, whatever became of their job but its end.
        self.redriven: set[str] = set()
        #: Executions of which a client was told that they are cancelled.
        self.cancelled: set[str] = set()
        #: From when on (ms) fires of jobs, by id, may be missing: their chains were cut, and nobody may have looked
        #: before the horizon was beyond their end.
        self.cut_at: dict[str, int] = {}

    def changed(self, job: NamedJob) -> None:
        """A row was written: this is the truth now."""
        life = self.lives[job.client_id, job.job_key]
        if not life.truths or life.truths[-1].version != job.version:
            life.truths.append(job)

    def answered(self, written: Written, *, is_change: bool = False, promises_from: int = 0) -> str | None:
        """A client was told that this is how the job stands; why it must not have been.

        Only a change's answer tells what of the job's past may still start.
        """
        life = self.lives[written.job.client_id, written.job.job_key]
        index = life.index_of(written.job.version)
        if index is None:
            return "it is answered under a version that was never the truth"
        listed = frozenset(execution.execution_id for execution in written.running)
        life.answered.append(
            Answered(index, written.job.job_id, listed, written.may_be_under_way or not is_change, promises_from)
        )
        self._place(life.truths[index])
        return None

    def _place(self, job: NamedJob) -> None:
        """An ordered job that fires once has its place from now on."""
        at, wanted = job.definition.at, job.definition
        if job.state is JobState.ACTIVE and at is not None:
            placed = Placed(job.job_id, str(ExecutionId(job.job_id, at, job.version)), at, wanted.sequence or 0)
            self._order.accepted(job.client_id, wanted.ordering_key, placed, self._scheduler.now)

    def is_outdated(self, execution_id: str) -> bool:
        """Whether its job has changed since, or was deleted."""
        place = decode_job(decode_execution(execution_id).job_id)
        assert isinstance(place, NamedJobId)
        truth = self.lives[place.client_id, place.job_key].truths[-1]
        return truth.version != decode_execution(execution_id).run or truth.incarnation != place.incarnation

    def objection(self, delivery: Delivery) -> str | None:
        """Why an attempt must not start, as far as named jobs go."""
        place = decode_job(delivery.job_id)
        if not isinstance(place, NamedJobId) or delivery.execution_id in self.redriven:
            return None
        if delivery.execution_id in self.cancelled:
            return "it starts after the answer cancelled"
        life = self.lives[place.client_id, place.job_key]
        execution = decode_execution(delivery.execution_id)
        if execution.run.startswith(("r", "b")) and life.index_of(execution.run) is None:
            index = max(i for i, job in enumerate(life.truths) if job.incarnation == place.incarnation and job.is_alive)
        else:
            found = life.index_of(execution.run)
            if found is None:
                return "it fires under a version that was never the truth"
            if not _promises(life.truths[found], execution.due_at):
                return "it fires at an instant that its version never promised"
            index = found
        return self._objection_of_answers(life, index, delivery.execution_id)

    @staticmethod
    def _objection_of_answers(life: Life, index: int, execution_id: str) -> str | None:
        for answer in life.answered:
            # The next job under a key knows nothing of the executions of the one before.
            is_theirs = decode_execution(execution_id).job_id == answer.job_id
            if index < answer.index and is_theirs and not answer.unseen and execution_id not in answer.listed:
                return f"it fires although its end was answered (version {index}, answered {answer.index})"
        return None

    def unsettled(self) -> Iterator[str]:
        """Promised executions that have neither been delivered nor ended."""
        for life in self.lives.values():
            yield from (e for e in life.by_hand if not self._is_settled(life, e))
            yield from self._unsettled_backfills(life)
            yield from self._unsettled_fires(life)

    def _unsettled_fires(self, life: Life) -> Iterator[str]:
        if not life.truths or life.truths[-1].state is not JobState.ACTIVE:
            return
        job = life.truths[-1]
        promises = [answer.promises_from for answer in life.answered if answer.index == len(life.truths) - 1]
        if not promises:
            return  # Never acknowledged: nothing was promised.
        cut_at = self.cut_at.get(job.job_id, job.changed_at + FOREVER_MS)
        skipped = [e.skipped for e in self.executions.list(job.job_id, MOST_FIRES, None) if e.skipped is not None]
        fire = fire_after(job, job.chain_after_at, job.chain_ordinal)
        while fire is not None:
            execution_id = str(ExecutionId(job.job_id, fire.due_at, job.version))
            is_skipped = any(s.from_at <= fire.due_at <= s.to_at for s in skipped)
            is_promised = min(promises) <= fire.due_at < cut_at
            if is_promised and not is_skipped and not self._is_settled(life, execution_id):
                yield execution_id
            fire = fire_after(job, fire.base_at, fire.ordinal)

    def _unsettled_backfills(self, life: Life) -> Iterator[str]:
        for backfill_id, (job_id, count, changes) in life.backfills.items():
            if changes < len(life.truths):
                continue
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


def _promises(job: NamedJob, due_at: int) -> bool:
    recurrence = job.definition.recurrence
    if recurrence is None:
        return job.definition.at == due_at
    every = recurrence.every
    if every is None or due_at < every.anchor_at:
        return False
    late_ms = (due_at - every.anchor_at) % every.every_ms
    return late_ms <= recurrence.jitter_seconds * 1000
