"""The watcher: checks every change and every attempt against the invariants, at the instant at which it happens."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from clockwork.domain import keys
from clockwork.domain.clients import Client
from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.executions import FINAL, WAITING, Execution, State
from clockwork.domain.ids import AnonymousJob, decode_job, is_named, only_execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.awaiting import is_asked
from clockwork.domain.lifecycle.retries import FORGIVEN_LOST_WORKERS
from clockwork.domain.limits.slots import Reserved
from clockwork.domain.releases import Deliver, Delivery, Release, Watch
from clockwork.domain.runs.beginning import is_run
from clockwork.domain.storage.codec import Element, decode_row
from clockwork.domain.timeline import Row, Shard
from clockwork.memory.executions import MemoryExecutions
from clockwork.memory.timeline import MemoryTimeline
from clockwork.settings import Settings
from tests.simulation.caps import Caps
from tests.simulation.departures import Departures
from tests.simulation.labour import Labour
from tests.simulation.lines import CALLBACK, Lines
from tests.simulation.lives import Lives
from tests.simulation.named_watcher import NamedWatcher
from tests.simulation.order import Order, Placed
from tests.simulation.progress import Progress
from tests.simulation.revoking import Grants
from tests.simulation.rows import UNDAMAGED, elements_of, every_row, quarantined_rows
from tests.simulation.scheduler import Actor, Scheduler
from tests.simulation.turns import Turns
from tests.support.examples import claim_of

#: No clock of a run differs by more than this (ms) from true time, so two differ by less than the grace of a claim.
MOST_SKEW_MS = 1_500


#: How the names of those begin that release because a client asks.
ASKING = ("api", "ingester")
#: The name of a call by which a receiver reports on its attempt.
REPORTING = "api<receiver"
#: The names of the calls of workers: by which they claim, and by which they tell of their attempts.
CLAIMING, REPORTING_WORKER = "workers<claim", "workers<report"
#: The actors that tell what a pool holds.
LOOKING_AT_POOL = "workers<look"
#: For so long after a cancel was noted (ms) nobody but its receiver ends an attempt at work.
RECEIVERS_GRACE_MS = 60_000
#: The error of an attempt that never began.
NOTHING_FREE = "nothing was free for it"
#: States that only an attempt leads to.
ATTEMPTED = frozenset({State.SUCCEEDED, State.FAILED, State.TIMED_OUT, State.WORKER_LOST, State.HANDED_BACK})


@dataclass
class Violation:
    """An invariant that did not hold."""

    invariant: str
    what: str
    about: str = ""

    def __str__(self) -> str:
        return f"{self.invariant}: {self.what}"


@dataclass
class Promise:
    """An acknowledged job, and the answers and attempts about it."""

    job_id: str
    occurrence: Occurrence
    acknowledged_at: int
    cancel_asked: bool = False
    cancelled_at: int | None = None
    running_attempt: int | None = None
    #: The attempts, by execution and number, that the answer to its cancel listed: of a workflow also those of nodes.
    listed: frozenset[tuple[str, int]] | None = None

    @cached_property
    def execution_id(self) -> str:
        """The executionId of its first run: asked for thousands of times in a run."""
        return only_execution(self.job_id, self.occurrence.due_at)


@dataclass
class Seen:
    """The observed deliveries of one job."""

    starts: list[tuple[int, int]] = field(default_factory=list)  # (true time, attempt)
    accepted: int = 0
    first_lateness_ms: int | None = None


class Watcher:
    """Everything known of a run from outside the flows."""

    def __init__(
        self, scheduler: Scheduler, settings: Settings, capped: Iterable[Client] = (), skew_ms: int = MOST_SKEW_MS
    ) -> None:
        self._scheduler = scheduler
        self._memory_ms = settings.idempotency_seconds * 1000 - 4 * MOST_SKEW_MS
        #: State that an invocation read at its beginning is at most this old (ms) while the invocation runs.
        self._invocation_ms = settings.deliverer_timeout_seconds * 1000 + MOST_SKEW_MS
        self._paused_since: dict[str, int] = {}
        self.grants = Grants(self._invocation_ms, MOST_SKEW_MS)
        self.departures = Departures(self._invocation_ms)
        self.order = Order(2 * skew_ms)
        self.lives = Lives(self.require)
        self.labour = Labour()
        self.progress = Progress(self)
        self.named = NamedWatcher(scheduler, self.order, self._invocation_ms)
        self.timeline = MemoryTimeline()
        self.executions = MemoryExecutions()
        self.violations: list[Violation] = []
        self.promises: dict[str, Promise] = {}
        self.seen: defaultdict[str, Seen] = defaultdict(Seen)
        self._sent: set[tuple[str, int]] = set()
        self._takers: dict[str, Actor | None] = {}
        self._horizons: dict[str, str] = {}
        #: The keys of the rows that each shard's quarantine holds.
        self._quarantined: defaultdict[str, set[str]] = defaultdict(set)
        self._cursors: defaultdict[str, str] = defaultdict(lambda: keys.BEGINNING)
        self._not_before: dict[str, int] = {}
        self._successes: set[tuple[str, int]] = set()
        #: Clients that have redriven or discarded dead executions.
        self.redriven: set[str] = set()
        #: Operations on many that were acknowledged, by client and id.
        self.operations: set[tuple[str, str]] = set()
        #: Of those that were stopped: the calls that there may be in the end.
        self.stops: dict[tuple[str, str], int] = {}
        #: The client whose work meets defects, if there is one: its chains, order and lateness are not judged.
        self.apart: str | None = None
        #: Whose work may be late or repeated, since something went wrong at it: for all else a run may be calm.
        self.is_held_up: Callable[[Occurrence], bool] = lambda _: False
        #: Executions whose revisions began anew: what a stalled deliverer saw fits the record that came since.
        self.rewound: set[str] = set()
        #: The first start of each execution: its delivery, and when (ms, true time).
        #: Executions that were released at once because a client asked, perhaps not for the first time.
        self.asked: set[str] = set()
        #: Whether that has ended which the attempt of a record began at a service that tells ends.
        self.has_ended: Callable[[Execution], bool] = lambda _: False
        #: The same of what has succeeded. An earlier attempt without an answer may have begun that.
        self.has_succeeded: Callable[[Execution], bool] = lambda _: False
        #: Whether an attempt begins nothing, as its service knows the name already.
        self.begins_nothing: Callable[[Delivery], bool] = lambda _: False
        #: How often each attempt was started: by execution and number.
        self.attempts: Counter[tuple[str, int]] = Counter()
        self.first_starts: dict[str, tuple[int, Delivery]] = {}
        #: Clients whose parked occurrences were discarded.
        self.discarded: set[str] = set()
        self.caps = Caps({client.client_id: client for client in capped})
        self.lines = Lines(self._invocation_ms)
        self.turns = Turns()
        self._payloads: dict[bytes, tuple[str, int]] = {}
        self._claimants: dict[str | None, Actor | None] = {}
        #: Under which claim a worker has begun each attempt.
        self._begun: dict[tuple[str, int], str | None] = {}

    @property
    def now(self) -> int:
        """True time (ms)."""
        return self._scheduler.now

    def violated(self, invariant: str, what: str, about: str = "") -> None:
        """Notes a violation, and ends the run."""
        self.violations.append(Violation(invariant, what, about))
        self._scheduler.stopped = True

    def require(self, holds: bool, invariant: str, what: str, about: str = "") -> None:
        """Notes a violation unless `holds`."""
        if not holds:
            self.violated(invariant, what, about)

    def edges(self) -> list[int]:
        """The instants of the horizons (ms), where comparing instants instead of keys goes wrong."""
        return [keys.instant_of(horizon) for horizon in self._horizons.values()]

    def job_of(self, payload: bytes, partition_ids: Iterable[str]) -> tuple[str, Occurrence] | None:
        """The latest job with this payload; older ones were created under the same key before it was forgotten."""
        found = [
            (AnonymousJob(row.partition_id, row.key, index).job_id, element)
            for partition_id in partition_ids
            for row in every_row(self.timeline, partition_id)
            for index, element in elements_of(row).items()
            if isinstance(element, Occurrence) and element.payload.body == payload
        ]
        return max(found, key=lambda job: job[1].created_at, default=None)

    # Answers to clients.

    def acknowledged(self, job_id: str, occurrence: Occurrence) -> None:
        """Notes that a client was told that this job is accepted."""
        if job_id not in self.promises:
            self.promises[job_id] = Promise(job_id, occurrence, self._scheduler.now)
            execution_id = only_execution(job_id, occurrence.due_at)
            placed = Placed(job_id, execution_id, occurrence.due_at, occurrence.sequence)
            key, target = occurrence.ordering_key, occurrence.target
            self.order.accepted(occurrence.client_id, key, target, placed, self._scheduler.now)
            self._check_released(job_id)

    def cancelled(self, job_id: str) -> None:
        """Notes that a client was answered `cancelled`."""
        promise = self.promises[job_id]
        promise.cancelled_at = promise.cancelled_at or self._scheduler.now
        is_redriven = promise.execution_id in self.named.redriven
        if promise.occurrence.record == "none" and not is_redriven:
            self.require(not self.seen[job_id].starts, "I5", "cancelled at level none, though an attempt began", job_id)

    def client_changed(self, client: Client) -> None:
        """Notes that a client was saved, paused or not."""
        self.grants.changed(client, self._scheduler.now)
        self.departures.changed(client, self._scheduler.now)
        self.caps.changed(client)
        self.named.client_pauses.changed(client, self._scheduler.now)
        if client.paused:
            self._paused_since.setdefault(client.client_id, self._scheduler.now)
        else:
            self._paused_since.pop(client.client_id, None)

    def is_paused(self, client_id: str) -> bool:
        """Whether the client is paused."""
        return client_id in self._paused_since

    # Messages that the queue took.

    def sent(self, releases: Sequence[Release], actor: Actor | None = None) -> None:
        """Notes releases that the release queue has taken."""
        self._sent.update((release.job_id, release.attempt) for release in releases)
        if actor is not None and actor.name.startswith(ASKING):
            self.asked.update(release.execution_id for release in releases)
        for release in self.caps.in_turn(releases):
            if isinstance(release, Watch):
                self.lines.told(actor, release)
            if not isinstance(release, Deliver):
                continue
            self.turns.sent(release)
            objection = self.caps.sent(actor, release) or self.lines.sent(actor, release)
            self.require(objection is None, "I8", str(objection), release.job_id)

    def was_sent(self, job_id: str, attempt: int) -> bool:
        """Whether the release queue has taken a release of this attempt."""
        return (job_id, attempt) in self._sent

    def reserved(self, actor: Actor | None, client_id: str, slots: Reserved, interval_ms: float) -> None:
        """Checks slots under a rate cap that a deliverer has reserved."""
        reserved = client_id, slots.first_at, slots.count, interval_ms
        objection = self.caps.reserved(actor, *reserved)
        ahead = self.lines.reserved(*reserved, self._scheduler.now, slots.line_until)
        objection = objection or ahead
        self.require(objection is None, "I8", str(objection))

    # Changes by pollers.

    def shard_taken(self, before: Shard, after: Shard, actor: Actor | None) -> None:
        """Checks a shard whose lease a poller has taken."""
        self._horizons[after.partition_id] = after.horizon
        self._check_monotone(before, after)
        self.require(after.epoch == before.epoch + 1, "I6", f"epoch {before.epoch} -> {after.epoch}")
        self._takers[after.partition_id] = actor

    def shard_moved(self, before: Shard, after: Shard, actor: Actor | None) -> None:
        """Checks a shard whose commit was accepted."""
        self._check_monotone(before, after)
        self.require(
            self._takers.get(after.partition_id) is actor, "I6", f"{actor and actor.name} commits though fenced"
        )
        self._cursors[after.partition_id] = after.cursor
        self._horizons[after.partition_id] = after.horizon
        self._quarantined[after.partition_id] = {row.key for row in quarantined_rows(self.timeline, after)}
        if after.cursor != before.cursor:
            for row in every_row(self.timeline, after.partition_id, before.cursor, after.cursor):
                self._check_row_released(row)

    def _check_monotone(self, before: Shard, after: Shard) -> None:
        self.require(after.cursor >= before.cursor, "I6", f"the cursor goes back: {before.cursor} -> {after.cursor}")
        self.require(after.horizon >= before.horizon, "I6", f"the horizon goes back: {before} -> {after}")
        self.require(after.cursor <= after.horizon, "I6", f"the cursor passes the horizon: {after}")

    def _check_row_released(self, row: Row) -> None:
        """The cursor passes this row: each promised job in it must have been released or have ended."""
        elements = self._elements_as_read(row)
        if elements is None:
            job_id = AnonymousJob(row.partition_id, row.key, 0).job_id
            found = self.executions.find(job_id, only_execution(job_id, keys.instant_of(row.key)))
            is_kept = found is not None or row.key in self._quarantined[row.partition_id]
            self.require(is_kept, "I6", f"the cursor passes an unreadable row without a record: {row.key}")
            return
        for index, element in elements.items():
            job_id = AnonymousJob(row.partition_id, row.key, index).job_id
            if isinstance(element, Occurrence) and index not in row.cancelled and job_id in self.promises:
                self._check_where_kept(job_id)

    def _elements_as_read(self, row: Row) -> Mapping[int, Element] | None:
        """The elements of a row that its poller could read; None if it could not, or nobody can."""
        with suppress(Undecodable, NewerFormat):
            return decode_row(row.blob)
        # It may have become unreadable behind its poller, which had read it.
        taker, before = self._takers.get(row.partition_id), UNDAMAGED.get(row.blob, row.blob)
        is_read = taker is not None and (row.partition_id, row.key, before) in taker.rows
        return (elements_of(row) or None) if is_read else None

    def _check_where_kept(self, job_id: str) -> None:
        promise = self.promises[job_id]
        if (job_id, 1) not in self._sent and not promise.cancel_asked:
            execution_id = promise.execution_id
            record = self.executions.find(job_id, execution_id)
            has_ended = record is not None and record.is_final
            self.require(
                # A redriven execution has a row of its own, and so has a release that the queue refused for now. What
                # cannot be told is in the quarantine.
                has_ended
                or execution_id in self.named.redriven
                or self._is_set_aside(job_id)
                or self._is_quarantined(job_id),
                "I6",
                "the cursor passes an acknowledged, unreleased row",
                job_id,
            )

    def _is_quarantined(self, job_id: str) -> bool:
        """Whether the job's row is to be visited again."""
        place = place_of(job_id)
        return place.key in self._quarantined[place.partition_id]

    def _is_set_aside(self, job_id: str) -> bool:
        """Whether a release of the job waits in a row that its poller has yet to read."""
        partition_id = place_of(job_id).partition_id
        return any(
            isinstance(element, Release) and element.job_id == job_id
            for row in every_row(self.timeline, partition_id, self._cursors[partition_id])
            for element in elements_of(row).values()
        )

    def _check_released(self, job_id: str) -> None:
        """Checks a job that was just acknowledged: if the cursor is past its row, the job must have been released."""
        place = place_of(job_id)
        row = self.timeline.find([(place.partition_id, place.key)])[0]
        if row is not None and place.element not in row.cancelled and self._cursors[place.partition_id] >= place.key:
            self._check_where_kept(job_id)

    # Changes by deliverers.

    def execution_changed(self, before: Execution | None, after: Execution, actor: Actor | None) -> None:
        """Checks a record that was stored in place of another."""
        about = after.job_id
        self.require(after.revision == (before.revision if before else 0) + 1, "I4", "a revision was skipped", about)
        self._check_transition(before, after)
        self._check_receiver(before, after, actor)
        self.labour.changed(before, after, self._scheduler.now)
        self.progress.recorded(before, after)
        self.caps.noted(actor, after)
        self.lines.changed(after, self._scheduler.now)
        if before is not None and before.state is State.DEAD and after.state is not State.DEAD:
            self.named.redriven.add(after.execution_id)
        self.named.recorded(after)
        if before is not None:
            self._check_end_stands(before, after)
            kept = [a.number for a in after.attempts[: len(before.attempts)]]  # old excerpts may go
            self.require(kept == [a.number for a in before.attempts], "I4", "history was lost", about)
            if before.state is State.RUNNING:
                self._check_claim_ended(before, after, actor)
        if after.state is State.RUNNING:
            self._claimants.setdefault(after.claimant, actor)
        if after.state is State.RUNNING and (before is None or before.state is not State.RUNNING):
            attempt = before.attempt + 1 if before else 1
            self.require(after.attempt == attempt or before is None, "I4", f"attempt {attempt} was skipped", about)
        if after.state in WAITING and after.state is not State.PARKED:
            self.require(after.waits.next_attempt_at is not None, "L1", "a waiting record says not what for", about)
            self._not_before[after.execution_id] = after.waits.next_attempt_at or 0
        if after.state is State.SUCCEEDED:
            is_ended = before is not None and (is_run(before) or self.has_succeeded(before))
            is_true = is_ended or (after.execution_id, after.attempt) in self._successes
            self.require(is_true, "I1", "it is recorded as succeeded, and no attempt of it was", about)
        if before is None or after.attempts != before.attempts:
            objection = self.grants.refusal_objection(after)
            self.require(objection is None, "I9", str(objection), about)
        objection = self.departures.end_objection(after, self._promised_at(about))
        self.require(objection is None, "I5", str(objection), about)
        self._check_fire(before, after)
        self.require(not _is_short_of_attempts(before, after), "P3", "it is DEAD for attempts that do not count", about)
        is_counted = any(attempt.error == NOTHING_FREE for attempt in after.attempts[-1:])
        self.require(not is_counted, "I4", "an attempt that never began counts", about)
        if after.state in FINAL:
            self.require(bool(after.reason) or after.state is State.SUCCEEDED, "I1", "an end without a reason", about)

    def _check_fire(self, before: Execution | None, after: Execution) -> None:
        if before is None or len(before.attempts) < len(after.attempts):
            objection = self.named.lateness_objection(after)
            self.require(objection is None, "I3", str(objection), after.job_id)
        objection = self.named.skip_objection(before, after)
        self.require(objection is None, "I1", str(objection), after.job_id)

    def _check_receiver(self, before: Execution | None, after: Execution, actor: Actor | None) -> None:
        """Requires that a receiver's report changes the record of its own claim alone, and that no deadline moves."""
        about = after.job_id
        if after.is_accepted and after.awaited is not None:
            in_time = (claim_of(after).until or 0) <= after.awaited.deadline_at
            self.require(in_time, "P4", "its receiver's claim outlasts the deadline", about)
        if actor is not None and actor.name in (REPORTING, REPORTING_WORKER):
            is_its = before is not None and before.state is State.RUNNING and before.claimant in actor.tokens
            self.require(is_its, "P2", f"a stale token changes what is {before and before.state}", about)

    def _check_end_stands(self, before: Execution, after: Execution) -> None:
        reopened = before.state is State.DEAD and after.client_id in self.redriven
        # A pause or a change ended it for earlier releases only.
        reopened = reopened or before.end.ended_by is not None
        told = f"{before.state} is final, and yet {after.state}"
        is_kept = msgspec.structs.replace(after, revision=before.revision, expires_at=before.expires_at) == before
        self.require(before.state not in FINAL or reopened or is_kept, "I4", told, after.job_id)

    def _check_transition(self, before: Execution | None, after: Execution) -> None:
        """Requires that only an attempt under way has an outcome: by its claim, or the first one at level none."""
        from_running = before is not None and before.state is State.RUNNING
        is_renewed = before is not None and before.attempts == after.attempts and before.state is after.state
        is_outcome = after.state in ATTEMPTED and not is_renewed
        told = f"{before and before.state} -> {after.state}"
        # An attempt whose time is over before it is sent is TIMED_OUT, and no target sees it.
        was_made = self.attempts[after.execution_id, 1] > 0 or after.state is State.TIMED_OUT
        is_first = before is None and after.budget.unclaimed and after.attempt == 1 and was_made
        is_known = from_running or is_first or after.execution_id in self.rewound
        self.require(is_known or not is_outcome, "I4", f"an outcome without a claim: {told}", after.job_id)

    def _check_claim_ended(self, before: Execution, after: Execution, actor: Actor | None) -> None:
        noted = after.state is State.RUNNING and after.claimant == before.claimant
        ours = actor is not None and before.claimant in actor.tokens
        claimant = self._claimants.get(before.claimant)
        ended = claimant is not None and claimant.is_over(self._scheduler.now)
        if before.end.report is not None or is_run(before):
            ended = True  # Of a run the end of the last node decides, whoever records it.
        elif is_asked(before) and (before.is_accepted or self.has_ended(before)):
            ended = self.has_ended(before)
        elif before.is_accepted:
            over_at = claim_of(before).until or 0
            if before.cancel_noted_at is not None:
                over_at = min(over_at, before.cancel_noted_at + RECEIVERS_GRACE_MS)
            ended = self._scheduler.now + 2 * MOST_SKEW_MS > over_at
        self.require(noted or ours or ended, "I4", f"{after.state} replaces a live claim", after.job_id)

    def started(self, actor: Actor, delivery: Delivery, clock_now: int, called_at: int | None = None) -> None:
        """Checks an attempt that begins: the target may see it from now on.

        `called_at`: when the invocation began that started it (ms, true time), if that is known.
        """
        job_id, occurrence = delivery.job_id, delivery.occurrence
        now = self._scheduler.now
        judged_at = now if called_at is None else min(now, called_at + self._invocation_ms - MOST_SKEW_MS)
        seen = self.seen[job_id]
        seen.starts.append((self._scheduler.now, delivery.attempt))
        self.first_starts.setdefault(delivery.execution_id, (self._scheduler.now, delivery))
        self.attempts[delivery.execution_id, delivery.attempt] += 1
        self.require(clock_now >= occurrence.due_at, "I2", f"{occurrence.due_at - clock_now} ms early", job_id)
        if delivery.attempt == 1 and seen.first_lateness_ms is None:
            seen.first_lateness_ms = self._scheduler.now - occurrence.due_at
        objection = self.named.objection(delivery)
        if not is_named(job_id) and delivery.node is None:
            self._check_made_once(job_id, occurrence)
        self._check_bounded(delivery)
        self.require(objection is None, "I7", str(objection), job_id)
        self._check_order(delivery)
        self._check_wanted_at(judged_at, job_id, occurrence)
        objection = self.grants.objection(delivery, judged_at)
        self.require(objection is None, "I9", str(objection), job_id)
        promise = self.promises.get(job_id)
        if promise is not None:
            self._check_not_cancelled(promise, delivery.attempt)
        if delivery.node is not None:
            self._check_listed(delivery, delivery.node.run)
            self.progress.started(delivery)
        if occurrence.record == "full" or delivery.attempt > 1:
            self._check_claimed(actor, delivery, clock_now)

    def _check_bounded(self, delivery: Delivery) -> None:
        most = delivery.occurrence.retry_policy.max_attempts
        most += FORGIVEN_LOST_WORKERS
        record = self.executions.find(delivery.job_id, delivery.execution_id)
        most += 0 if record is None or not is_named(delivery.job_id) else record.budget.start
        most += 0 if record is None else record.budget.handbacks
        self.require(
            delivery.attempt <= most or delivery.occurrence.client_id in self.redriven,
            "L1",
            f"attempt {delivery.attempt} of {most}",
            delivery.job_id,
        )

    def _check_made_once(self, job_id: str, occurrence: Occurrence) -> None:
        """Requires that one request makes one job, however often it is repeated while its key is remembered.

        An execution that is redriven and dies again before an attempt has a second callback, with the same facts.
        """
        promise = self.promises.get(job_id)
        occurrence = occurrence if promise is None else promise.occurrence  # a redriven job counts as made anew
        known, created_at = self._payloads.setdefault(occurrence.payload.body, (job_id, occurrence.created_at))
        is_callback = occurrence.payload.body.startswith(CALLBACK)
        may_die_again = is_callback and occurrence.client_id in self.redriven
        if known != job_id and not may_die_again:
            apart = abs(occurrence.created_at - created_at)
            self.require(apart >= self._memory_ms, "I10", f"one wish became two jobs: {known}", job_id)

    def _check_not_cancelled(self, promise: Promise, attempt: int) -> None:
        job_id = promise.job_id
        self.require(promise.cancelled_at is None, "I5", "an attempt begins after the answer cancelled", job_id)
        listed = promise.running_attempt
        self.require(listed is None or attempt <= listed, "I5", "an attempt begins after running was answered", job_id)

    def _check_listed(self, delivery: Delivery, run: str) -> None:
        """Requires that behind the answer to a cancel of its run a node starts only if that listed it."""
        for promise in self.promises.values():
            if promise.execution_id == run and promise.listed is not None:
                is_listed = (delivery.execution_id, delivery.attempt) in promise.listed
                self.require(is_listed, "W5", "a node starts behind the answer to a cancel", delivery.job_id)

    def _check_order(self, delivery: Delivery) -> None:
        """Requires that the jobs ahead in the order of its key, accepted in time, have ended."""
        if delivery.occurrence.client_id == self.apart:
            return
        for ahead in self.order.ahead_of(delivery.execution_id, delivery.occurrence):
            record = self.executions.find(ahead.job_id, ahead.execution_id)
            has_ended = record is not None and record.is_final
            has_ended = has_ended or self._is_called_off(ahead) or delivery.occurrence.client_id in self.redriven
            told = f"it overtakes {ahead.job_id}, which is {record and record.state}"
            self.require(has_ended, "I11", told, delivery.job_id)

    def _is_called_off(self, placed: Placed) -> bool:
        """Whether its client has asked, perhaps without an answer, that it is not delivered."""
        promise = self.promises.get(placed.job_id)
        return self.named.is_outdated(placed.execution_id) if promise is None else promise.cancel_asked

    def _check_wanted_at(self, judged_at: int, job_id: str, occurrence: Occurrence) -> None:
        """Requires that when its invocation began the job had not expired, nor its client been paused or deleted."""
        began_at = judged_at - self._invocation_ms
        window_seconds = occurrence.relevancy_window_seconds
        earliest_at = max(occurrence.due_at, occurrence.created_at)
        in_time = window_seconds is None or began_at <= earliest_at + window_seconds * 1000
        self.require(in_time, "I3", "an attempt begins after its window", job_id)
        paused_at = self._paused_since.get(occurrence.client_id, began_at)
        self.require(paused_at >= began_at, "I8", "an attempt begins though its client is paused", job_id)
        objection = self.departures.start_objection(occurrence.client_id, self._promised_at(job_id), judged_at)
        self.require(objection is None, "I5", str(objection), job_id)

    def _promised_at(self, job_id: str) -> int | None:
        """When a job was acknowledged (ms, true time); None for a named job, or one that was not."""
        promise = self.promises.get(job_id)
        return None if promise is None else promise.acknowledged_at

    def _check_claimed(self, actor: Actor, delivery: Delivery, clock_now: int) -> None:
        record = self.executions.find(delivery.job_id, delivery.execution_id)
        about = delivery.job_id
        if record is None or record.state is not State.RUNNING:
            told = f"an attempt begins, and the record is {record and record.state}"
            self.require(self.begins_nothing(delivery), "I4", told, about)
            return
        self.require(record.claimant in actor.tokens, "I4", "an attempt begins under another's claim", about)
        self.require(record.attempt == delivery.attempt, "I4", f"attempt {delivery.attempt} is not the claimed", about)
        early = self._not_before.get(delivery.execution_id, 0) - clock_now
        self.require(early <= 0, "I2", f"a retry begins {early} ms early", about)

    def begun(self, actor: Actor, delivery: Delivery, claimed: Execution, asked_at: int) -> None:
        """Checks an attempt that a worker begins, which `actor` has claimed for it.

        `asked_at`: when the worker asked for its claim first (ms, true time). It may begin as long as it has the lease.
        """
        about, now = delivery.job_id, self._scheduler.now
        objection = self.labour.start_objection(delivery.execution_id, delivery.attempt)
        self.require(objection is None, "P7", str(objection), about)
        self.started(actor, delivery, now + MOST_SKEW_MS, asked_at)
        known = self._begun.setdefault((delivery.execution_id, delivery.attempt), claimed.claimant)
        self.require(known == claimed.claimant, "P8", f"attempt {delivery.attempt} is begun under two claims", about)

    def under_way(self, actor: Actor, delivery: Delivery, lasts_ms: int) -> None:
        """Checks the caps of its client for an attempt that takes `lasts_ms`."""
        now, client_id = self._scheduler.now, delivery.occurrence.client_id
        attempt = delivery.execution_id, delivery.attempt
        objection = self.caps.objection(actor, client_id, attempt, now, now + lasts_ms)
        objection = objection or self.turns.start_objection(actor, delivery)
        self.require(objection is None, "I8", str(objection), delivery.job_id)

    def succeeded(self, delivery: Delivery) -> None:
        """Notes an attempt whose answer is success, if the deliverer lives to receive it."""
        self._successes.add((delivery.execution_id, delivery.attempt))

    def accepted(self, delivery: Delivery) -> None:
        """Notes a delivery that the target has taken."""
        self.seen[delivery.job_id].accepted += 1
        self.named.accepted.add(delivery.execution_id)


def _is_short_of_attempts(before: Execution | None, after: Execution) -> bool:
    """Whether an execution is DEAD as its attempts are used up, though fewer of them count than its policy has."""
    if before is None or after.state is not State.DEAD or after.kept.occurrence is None:
        return False
    counted = sum(one.number > before.budget.start and one.state is not State.HANDED_BACK for one in after.attempts)
    # The claim of a later attempt made the record: the first failure at level `none` was not recorded, or an operator
    # deleted the record. It tells nothing of the attempts before, and these may have counted.
    counted += max(0, after.attempts[0].number - before.budget.start - 1) if after.attempts else 0
    is_used_up = (after.reason or "").startswith("attempt ")
    return is_used_up and counted < after.kept.occurrence.retry_policy.max_attempts and len(after.attempts) < 100


def place_of(job_id: str) -> AnonymousJob:
    """The row and element of an anonymous job."""
    place = decode_job(job_id)
    if not isinstance(place, AnonymousJob):
        raise TypeError(f"{job_id} is not anonymous")
    return place
