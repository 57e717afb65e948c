"""A released occurrence comes due: claim, hold to the millisecond, deliver, record, retry.

A message is acknowledged only when nothing depends on it any more: its outcome is recorded and what follows it is
released. If the deliverer dies anywhere before, the message comes back and finds how far things got.
"""

from __future__ import annotations

from collections.abc import Sequence

from clockwork.domain.jobs import HttpTarget, KafkaTarget
from clockwork.domain.releases import Delivery, Release
from clockwork.flows.deaths import call_back, notify_dead
from clockwork.flows.deliver.admission import admit
from clockwork.flows.deliver.batch import LONGEST_HOLD_MS, Batch
from clockwork.flows.deliver.bundles import Message, resend_alone, unbundled
from clockwork.flows.deliver.circuits import give_probes_back, update_circuits
from clockwork.flows.deliver.claim import claim, unexpired
from clockwork.flows.deliver.concurrency import give_back_all, note_ended
from clockwork.flows.deliver.items import DeliverReport, Item
from clockwork.flows.deliver.outcome import record
from clockwork.flows.deliver.retry import send_retries
from clockwork.flows.deliver.start import hold_and_check
from clockwork.flows.deliver.waiting import Resent
from clockwork.flows.world import World

#: What recording the outcomes may take at the end of an invocation (ms).
RECORD_MARGIN_MS = 1_500
#: What handing over to an AWS service may take at the most (s).
AWS_TIMEOUT_SECONDS = 5.0


def deliver_batch(world: World, messages: Sequence[Message], deadline_at: int) -> DeliverReport:
    """Deliver each message of a batch that is due, and say which have to come back. One bad message fails alone."""
    waiting = Resent(world)
    batch = Batch(world, deadline_at, waiting)
    # 1. Attempt what is due.
    attempt(batch, unbundled(batch, messages))
    # 2. Release what follows, and what failed of bundles; only then are the messages acknowledged.
    results = send_retries(world, [release for _, release in waiting.following])
    for (item, _), why_not in zip(waiting.following, results, strict=True):
        if why_not is not None:
            batch.fail(item, why_not)
    resend_alone(batch)
    return batch.report


def attempt(batch: Batch, items: Sequence[Item]) -> None:
    """Make an attempt at each item that is due, and record what came of it. The others go back or are parked."""
    # 1. What is early, or cannot end in time, goes back with the rest of its delay.
    items = _in_time(batch, items)
    # 2. What its client's caps, a pause or an open circuit hold back waits or is parked, unless it is too late anyway.
    admitted = admit(batch, items := unexpired(batch, items))
    # 3. Claim: from here on nobody else starts these attempts.
    claimed = claim(batch, admitted)
    # 4. Hold each until it is due, look whether its job still wants it, start it; nothing waits for another's answer.
    targets = batch.world.targets
    # An invocation that failed may have left attempts under way in this environment: their outcomes are nobody's here.
    targets.forget()
    for slot in hold_and_check(batch, claimed):
        targets.begin(slot, _delivery(claimed[slot].release, batch.deadline_at - RECORD_MARGIN_MS))
        claimed[slot].is_started = True
    give_probes_back(batch.world, items)
    # 5. Record outcomes as they come in.
    while ended := targets.collect():
        outcomes = [(claimed[slot], outcome) for slot, outcome in ended]
        record(batch, outcomes)
        update_circuits(batch.world, outcomes)
        note_ended(batch, outcomes)
    give_back_all(batch)
    # 6. Tell clients of what became DEAD, and call back where a job asks for it.
    notify_dead(batch.world, batch.dead)
    batch.dead.clear()
    _call_back(batch)


def _call_back(batch: Batch) -> None:
    results = call_back(batch.world, [(item.release, dead) for item, dead in batch.called_back])
    for (item, _), why_not in zip(batch.called_back, results, strict=True):
        if why_not is not None:
            batch.fail(item, f"its callback is not certain: {why_not}")
    batch.called_back.clear()


def _in_time(batch: Batch, items: Sequence[Item]) -> list[Item]:
    now = batch.world.clock.now()
    ready = [item for item in items if _is_ready(batch, item.release, now)]
    batch.send_back([item for item in items if item not in ready])
    return ready


def _is_ready(batch: Batch, release: Release, now: int) -> bool:
    end_at = max(now, release.run_at) + int(_timeout_seconds(batch.world, release) * 1000)
    return release.run_at - now < LONGEST_HOLD_MS and end_at <= batch.deadline_at - RECORD_MARGIN_MS


def _timeout_seconds(world: World, release: Release) -> float:
    target = release.occurrence.target
    if isinstance(target, KafkaTarget):
        return world.settings.kafka_timeout_seconds
    if not isinstance(target, HttpTarget):
        return AWS_TIMEOUT_SECONDS
    # A job made under longer bounds is cut at today's, rather than put off for ever.
    return min(target.timeout_seconds, world.settings.target_timeout_seconds)


def _delivery(release: Release, deadline_at: int) -> Delivery:
    return Delivery(release.execution_id, release.job_id, release.attempt, release.occurrence, deadline_at)
