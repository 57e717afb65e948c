"""Record outcomes of attempts, each by one compare-and-set on the claim: a stale claimant's outcome is refused.

A first attempt at record level `none` has no claim. If it fails, its retry is sent first, and the failure is recorded
then (`record_first_failures`). The other order could lose the execution. A duplicate of the message may succeed
meanwhile, and is acknowledged without a look at any record. With it goes the last message that would send the retry.

How it fails. The deliverer dies behind the retry: the retry finds no record, and its claim makes one, without the first
attempt. The save has no answer: the same. A duplicate was first, or a cancel: its record stands, and decides about the
retry. The retry comes before the record: the save loses to the claim. The retry is not taken: nothing is recorded, and
the message comes back.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from clockwork.domain.executions import Outcome, State
from clockwork.domain.jobs import SECOND_LATE_MS
from clockwork.domain.lifecycle.attempts import Plan, plan_outcome, plan_unclaimed_outcome
from clockwork.domain.lifecycle.reports import plan_answer
from clockwork.flows.containment import contained
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.circuits import give_probes_back
from clockwork.flows.deliver.claim import give_back, later
from clockwork.flows.deliver.items import DeliverReport, Item, Received
from clockwork.ports import Saved

log = logging.getLogger(__name__)

Ended = tuple[Item, Outcome]


def record(batch: Batch, ended: Sequence[Ended]) -> None:
    """Record attempts that have ended, and note the release that follows from each."""
    for item, outcome in ended:
        # An attempt was made, so its outcome is recorded and followed even if a defect keeps it from being counted.
        with contained(batch.world.environment.faults, _ignore, item.release.execution_id):
            _count(batch, item, outcome)
    open_ends = list(ended)
    while open_ends:
        open_ends = _record_round(batch, open_ends)


def put_off_unbegun(batch: Batch, unbegun: Sequence[Ended]) -> None:
    """Let items come again whose targets began no attempt: uncounted, as for a permit. Their turns to probe are free.

    A first attempt at level `none` has no claim to give back. If the deliverer dies before its message is sent anew,
    the message that it has comes back.
    """
    for item, outcome in unbegun:
        why_not = outcome.error or "it never began"
        extra = {"action": "attempt_not_begun", "executionId": item.release.execution_id}
        log.warning("no attempt is made: %s", why_not, extra=extra)
        item.is_started = False
        with batch.failing(item):
            if item.seen is not None:
                give_back(batch, item, why_not)
            else:
                item.release = later(batch, item)
                batch.send_back([item])
    give_probes_back(batch.world, [item for item, _ in unbegun])


def record_first_failures(batch: Batch, unsent: Sequence[Received]) -> None:
    """Record the first failures at level `none` whose retries are sent; those of `unsent` items are not.

    A duplicate of the message may have ended DEAD, and its deliverer have died behind that record.
    """
    left = {id(item) for item in unsent}
    failures = [(item, record) for item, record in batch.first_failures if id(item) not in left]
    batch.first_failures.clear()
    saves = batch.world.executions.save([(None, record) for _, record in failures]) if failures else ()
    for (item, record), saved in zip(failures, saves, strict=True):
        batch.owe(item, saved.actual)
        if saved.unavailable is not None:
            extra = {"action": "first_failure_not_recorded", "executionId": record.execution_id}
            log.warning("a first failure is not recorded: %s", saved.unavailable, extra=extra)


def _ignore(_why: str) -> None:
    """The defect is counted and logged already."""


def _record_round(batch: Batch, ended: Sequence[Ended]) -> list[Ended]:
    outcomes = {id(item): outcome for item, outcome in ended}
    plans = batch.each([item for item, _ in ended], lambda item: _plan(batch, item, outcomes[id(item)]))
    again = []
    for index, saved in batch.save_plans(plans):
        item, plan = plans[index]
        with batch.failing(item):
            if not _carry_out(batch, item, plan, saved):
                again.append((item, outcomes[id(item)]))
    return again


def _carry_out(batch: Batch, item: Item, plan: Plan, saved: Saved) -> bool:
    """Carry a plan out that was saved; False if it lost to another writer, and is to be planned again."""
    if saved.ok:
        batch.apply_plan(item, plan)
    elif item.seen is None:
        # At record level `none` a duplicate of the message was first, and its record decides.
        batch.absorb(item, saved.actual)
    elif item.secret is not None and saved.actual is not None and saved.actual.is_final:
        # Its receiver was faster than the target's answer.
        batch.absorb(item, saved.actual)
    elif saved.actual is not None and saved.actual.claimant == item.seen.claimant:
        # It is still our claim: a cancel was noted on it meanwhile.
        return not batch.take_replan(item, saved.actual)
    else:
        batch.fail(item, "our claim had ended, so its outcome is refused")
    return True


def _plan(batch: Batch, item: Item, outcome: Outcome) -> Plan:
    now, jitter = batch.world.clock.now(), batch.world.random.fraction()
    if item.seen is None:
        plan = plan_unclaimed_outcome(item.release, outcome, now, jitter, batch.world.execution_expires_at(now))
        if plan.release is None or plan.execution is None:
            return plan
        batch.first_failures.append((item, plan.execution))
        return Plan(plan.action, plan.reason, release=plan.release)
    if item.secret is not None:
        return plan_answer(item.release, item.seen, outcome, now, jitter)
    return plan_outcome(item.release, item.seen, outcome, now, jitter)


def _count(batch: Batch, item: Item, outcome: Outcome) -> None:
    batch.report.early += outcome.started_at < item.release.run_at
    if outcome.state is State.SUCCEEDED:
        batch.report.succeeded += 1
    else:
        batch.report.failed += 1
    if item.seen is None:
        _count_unrecorded(batch, item, outcome)
    if item.seen is None or item.seen.is_first_attempt:
        _count_lateness(batch.report, item, item.release.lateness_ms(outcome.started_at), outcome.started_at)


def _count_unrecorded(batch: Batch, item: Item, outcome: Outcome) -> None:
    """Count a start that no record tells for the client, and a success that leaves none."""
    occurrence, waited = item.release.occurrence, item.release.waited_by(outcome.started_at)
    tally = batch.world.environment.counters.of(occurrence.client_id, batch.world.clock.now())
    late_ms = item.release.lateness_ms(outcome.started_at)
    tally.add_start(late_ms, {} if waited is None else msgspec.structs.asdict(waited))
    if outcome.state is State.SUCCEEDED:
        tally.add_end(State.SUCCEEDED)


def _count_lateness(report: DeliverReport, item: Item, lateness_ms: int, started_at: int) -> None:
    waited = item.seen.waits.waited if item.seen is not None else item.release.waited_by(started_at)
    waits: dict[str, int] = {} if waited is None else msgspec.structs.asdict(waited)
    own_ms = lateness_ms - (SECOND_LATE_MS if item.release.occurrence.may_come_later else 0)
    for cause, ms in waits.items():
        if ms:
            report.waited_ms.setdefault(cause, []).append(ms)
        # Without a concurrency limit of the client's own, the deployment had no permit for it.
        own_ms -= ms if cause != "permit" or item.has_cap else 0
    report.lateness_ms.append(lateness_ms)
    report.own_lateness_ms.append(max(0, own_ms))
