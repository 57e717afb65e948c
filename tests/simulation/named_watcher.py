"""Watches named jobs: no fire starts from a refused or replaced schedule, and every promised fire ends."""

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
#: The simulator draws no exclusions, which keeps this oracle simple: fires are anchor + n * interval, plus a jitter.
MOST_FIRES = 10_000
FOREVER_MS = 10**12


@dataclass
class Answered:
    """What a client was told of a job: its version, and after a change which earlier executions may still start."""

    index: int
    job_id: str
    #: None: the answer was not to a change, and lists nothing.
    listed: frozenset[str] | None
    #: The answer promised all fires due from this instant on (ms).
    promises_from: int


@dataclass
class Life:
    """Every version of the job under one key, and the answers about it."""

    truths: list[NamedJob] = field(default_factory=list)
    answered: list[Answered] = field(default_factory=list)
    #: Acknowledged executions that were asked for by hand.
    by_hand: set[str] = field(default_factory=set)
    #: Acknowledged backfills: the job, its number of fires, and how often the job had changed before. No result is
    #: promised if the job's schedule changes during a backfill.
    backfills: dict[str, tuple[str, int, int]] = field(default_factory=dict)

    def index_of(self, version: str) -> int | None:
        """The position of a version among all versions, or None."""
        return next((i for i, job in enumerate(self.truths) if job.version == version), None)


class NamedWatcher:
    """Everything known of named jobs from outside the flows."""

    def __init__(self, scheduler: Scheduler, order: Order) -> None:
        self._scheduler = scheduler
        self._order = order
        self.executions = MemoryExecutions()
        self.lives: defaultdict[Place, Life] = defaultdict(Life)
        self.accepted: set[str] = set()
        #: Redriven executions: these may start whatever has become of their job since.
        self.redriven: set[str] = set()
        #: Executions that the api answered to be cancelled.
        self.cancelled: set[str] = set()
        #: From this instant (ms) on fires of a job, by its id, may be missing: its chain was cut, and perhaps no repair
        #: came before the horizon was beyond the chain's end.
        self.cut_at: dict[str, int] = {}

    def changed(self, job: NamedJob) -> None:
        """Notes the version of a job that a store has just saved."""
        life = self.lives[job.client_id, job.job_key]
        if not life.truths or life.truths[-1].version != job.version:
            life.truths.append(job)

    def answered(self, written: Written, *, is_change: bool = False, promises_from: int = 0) -> str | None:
        """Notes that a client was told the state of a job; returns why the answer is wrong, or None.

        Only the answer to a change tells which earlier executions of the job may still start.
        """
        life = self.lives[written.job.client_id, written.job.job_key]
        index = life.index_of(written.job.version)
        if index is None:
            return "it is answered under a version that was never the truth"
        listed = frozenset(execution.execution_id for execution in written.running) if is_change else None
        life.answered.append(Answered(index, written.job.job_id, listed, promises_from))
        self._place(life.truths[index])
        return None

    def _place(self, job: NamedJob) -> None:
        """Gives an ordered one-shot its position in the order, from now on."""
        at, wanted = job.definition.at, job.definition
        if job.state is JobState.ACTIVE and at is not None:
            placed = Placed(job.job_id, str(ExecutionId(job.job_id, at, job.version)), at, wanted.sequence or 0)
            self._order.accepted(job.client_id, wanted.ordering_key, placed, self._scheduler.now)

    def is_outdated(self, execution_id: str) -> bool:
        """Whether the execution's job has changed since, or was deleted."""
        place = decode_job(decode_execution(execution_id).job_id)
        assert isinstance(place, NamedJobId)
        truth = self.lives[place.client_id, place.job_key].truths[-1]
        return truth.version != decode_execution(execution_id).run or truth.incarnation != place.incarnation

    def objection(self, delivery: Delivery) -> str | None:
        """The reason why an attempt of a named job must not start, or None."""
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
            is_listed = answer.listed is None or execution_id in answer.listed
            if index < answer.index and is_theirs and not is_listed:
                return f"it fires although its end was answered (version {index}, answered {answer.index})"
        return None

    def changed_at(self, execution_id: str) -> int | None:
        """When the version of a job was saved whose schedule asked for this fire (ms); None for any other execution."""
        execution = decode_execution(execution_id)
        place = decode_job(execution.job_id)
        if not isinstance(place, NamedJobId):
            return None
        life = self.lives[place.client_id, place.job_key]
        index = life.index_of(execution.run)
        return None if index is None else life.truths[index].changed_at

    def unsettled(self, apart: str | None = None) -> Iterator[str]:
        """The ids of promised executions that were neither delivered nor ended.

        Those of the client `apart` are left out: a defect may cost a chain its pointer, until the audit of the day.
        """
        for life in (life for (client_id, _), life in self.lives.items() if client_id != apart):
            yield from (e for e in life.by_hand if not self._is_settled(life, e))
            yield from self._unsettled_backfills(life)
            yield from self._unsettled_fires(life)

    def _unsettled_fires(self, life: Life) -> Iterator[str]:
        if not life.truths or life.truths[-1].state is not JobState.ACTIVE:
            return
        job = life.truths[-1]
        promises = [answer.promises_from for answer in life.answered if answer.index == len(life.truths) - 1]
        if not promises:
            return  # Never acknowledged, so nothing was promised.
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
