"""A released occurrence comes due: claim, hold to the millisecond, deliver, record, retry.

A message is acknowledged only when nothing depends on it any more: its outcome is recorded and what follows it is
released. If the deliverer dies anywhere before, the message comes back and finds how far things got.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from clockwork.domain.attempts import Action, Claim, Plan, plan_claim, plan_outcome, plan_unrecorded_outcome
from clockwork.domain.codec import decode_release
from clockwork.domain.errors import NewerFormat, Undecodable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.jobs import HttpTarget
from clockwork.domain.releases import Delivery, Release
from clockwork.flows.follow import send_following
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: What comes earlier than this goes back to the queue with the rest of its delay (ms).
LONGEST_HOLD_MS = 2_000
#: What recording the outcomes may take at the end of an invocation (ms).
RECORD_MARGIN_MS = 1_500
#: What handing over to an AWS service may take at the most (s).
AWS_TIMEOUT_SECONDS = 5.0
#: A record that changes again and again under our hands is left to the next receive of its message.
CLAIM_ROUNDS = 4


class Message(msgspec.Struct, frozen=True):
    """A message of the release queue."""

    message_id: str
    body: str


class DeliverReport(msgspec.Struct):
    """What became of a batch. `failed_messages` come back; all others are acknowledged."""

    failed_messages: list[str] = []
    lateness_ms: list[int] = []
    succeeded: int = 0
    failed: int = 0
    dead: int = 0
    absorbed: int = 0
    deferred: int = 0
    early: int = 0


class _Item(msgspec.Struct):
    """One message in hand: its release, and the record as it was last seen with our claim on it."""

    message_id: str
    release: Release
    running: Execution | None = None
    lost: Execution | None = None


class _Batch:
    """The messages of one invocation and what became of them."""

    def __init__(self, world: World, deadline_at: int) -> None:
        self.world = world
        self.deadline_at = deadline_at
        self.report = DeliverReport()
        self.following: list[tuple[_Item, Release]] = []

    def fail(self, item: _Item, why: str) -> None:
        """Let the message come back."""
        log.warning(
            "message fails: %s", why, extra={"action": "message_failed", "executionId": item.release.execution_id}
        )
        self.report.failed_messages.append(item.message_id)

    def follow(self, item: _Item, release: Release) -> None:
        """Send `release` before the message of `item` is acknowledged."""
        self.following.append((item, release))


def deliver_batch(world: World, messages: Sequence[Message], deadline_at: int) -> DeliverReport:
    """Deliver each message of a batch that is due, and say which have to come back. One bad message fails alone."""
    batch = _Batch(world, deadline_at)
    # 1. What is early, or cannot end in time, goes back with the rest of its delay.
    items = _in_time(batch, _decoded(batch, messages))
    # 2. Claim: from here on nobody else starts these attempts.
    claimed = _claim(batch, items)
    # 3. Hold each until it is due, and start it; nothing waits for another's answer.
    for slot, item in enumerate(claimed):
        world.clock.hold_until(item.release.run_at)
        world.targets.begin(slot, _delivery(item.release, deadline_at - RECORD_MARGIN_MS))
    # 4. Record outcomes as they come in.
    while ended := world.targets.collect():
        _record(batch, [(claimed[slot], outcome) for slot, outcome in ended])
    # 5. Release what follows, and only then let go of the messages.
    _send_following(batch)
    return batch.report


def _decoded(batch: _Batch, messages: Sequence[Message]) -> list[_Item]:
    items = []
    for message in messages:
        try:
            items.append(_Item(message.message_id, decode_release(message.body)))
        except (Undecodable, NewerFormat) as error:
            # It comes back until the dead-letter queue takes it; a newer version or the sweeper will know.
            log.error("undecodable message: %s", error, extra={"action": "undecodable_message"})
            batch.report.failed_messages.append(message.message_id)
    return sorted(items, key=lambda item: item.release.run_at)


def _in_time(batch: _Batch, items: Sequence[_Item]) -> list[_Item]:
    now = batch.world.clock.now()
    ready = []
    for item in items:
        release = item.release
        timeout_seconds = min(_timeout_seconds(release), batch.world.settings.target_timeout_seconds)
        end_at = max(now, release.run_at) + int(timeout_seconds * 1000)
        if release.run_at - now >= LONGEST_HOLD_MS or end_at > batch.deadline_at - RECORD_MARGIN_MS:
            batch.report.deferred += 1
            batch.follow(item, release)
        else:
            ready.append(item)
    return ready


def _claim(batch: _Batch, items: Sequence[_Item]) -> list[_Item]:
    """Those that are ours to start. A claim is one conditional write; who loses it looks at what is there instead."""
    world = batch.world
    started = [item for item in items if item.release.occurrence.record == "none"]
    open_items = [item for item in items if item.release.occurrence.record == "full"]
    for item in open_items:
        if item.release.attempt > 1 or item.release.sweeps:
            item.lost = world.executions.find(item.release.job_id, item.release.execution_id)
    for _ in range(CLAIM_ROUNDS):
        open_items = _claim_round(batch, open_items, started)
        if not open_items:
            break
    for item in open_items:
        batch.fail(item, "its record keeps changing")
    return sorted(started, key=lambda item: item.release.run_at)


def _claim_round(batch: _Batch, items: Sequence[_Item], started: list[_Item]) -> list[_Item]:
    plans = [(item, plan_claim(item.release, item.lost, _new_claim(batch))) for item in items]
    writing = [(item, plan) for item, plan in plans if plan.execution is not None]
    for item, plan in plans:
        if plan.execution is None:
            _settle(batch, item, plan)
    lost = []
    changes = [(item.lost, plan.execution) for item, plan in writing if plan.execution is not None]
    for (item, plan), saved in zip(writing, batch.world.executions.save(changes) if changes else (), strict=True):
        if saved.unavailable is not None:
            batch.fail(item, saved.unavailable)
        elif not saved.ok:
            item.lost = saved.actual
            lost.append(item)
        elif plan.action is Action.START:
            item.running = plan.execution
            started.append(item)
        else:
            _settle(batch, item, plan)
    return lost


def _settle(batch: _Batch, item: _Item, plan: Plan) -> None:
    """Count what a plan means that needs no attempt of ours (any more), and note what is to be sent."""
    if plan.action is Action.ABSORB:
        batch.report.absorbed += 1
    elif plan.action is Action.DEFER:
        batch.report.deferred += 1
    elif plan.execution is not None and plan.execution.state is State.DEAD:
        batch.report.dead += 1
    if plan.release is not None:
        batch.follow(item, plan.release)


def _record(batch: _Batch, ended: Sequence[tuple[_Item, Outcome]]) -> None:
    for item, outcome in ended:
        _count(batch.report, item, outcome)
    open_ends = list(ended)
    for _ in range(CLAIM_ROUNDS):
        open_ends = _record_round(batch, open_ends)
        if not open_ends:
            return
    for item, _outcome in open_ends:
        batch.fail(item, "its record keeps changing")


def _record_round(batch: _Batch, ended: Sequence[tuple[_Item, Outcome]]) -> list[tuple[_Item, Outcome]]:
    plans = [(item, outcome, _plan_outcome(batch, item, outcome)) for item, outcome in ended]
    for item, _outcome, plan in plans:
        if plan.execution is None:
            _settle_outcome(batch, item, plan)
    writing = [(item, outcome, plan) for item, outcome, plan in plans if plan.execution is not None]
    changes = [(item.running, plan.execution) for item, _, plan in writing if plan.execution is not None]
    again = []
    for (item, outcome, plan), saved in zip(
        writing, batch.world.executions.save(changes) if changes else (), strict=True
    ):
        if saved.unavailable is not None:
            batch.fail(item, saved.unavailable)
        elif saved.ok:
            _settle_outcome(batch, item, plan)
        elif item.running and saved.actual and saved.actual.claimant == item.running.claimant:
            # Still our claim: a cancel was noted on it meanwhile.
            item.running = saved.actual
            again.append((item, outcome))
        elif item.running is None:
            batch.report.absorbed += 1
        else:
            batch.fail(item, "our claim had ended; its outcome is refused")
    return again


def _plan_outcome(batch: _Batch, item: _Item, outcome: Outcome) -> Plan:
    now, jitter = batch.world.clock.now(), batch.world.chance.fraction()
    if item.running is None:
        return plan_unrecorded_outcome(item.release, outcome, now, jitter, batch.world.execution_expires_at(now))
    return plan_outcome(item.release, item.running, outcome, now, jitter)


def _settle_outcome(batch: _Batch, item: _Item, plan: Plan) -> None:
    if plan.execution is not None and plan.execution.state is State.DEAD:
        batch.report.dead += 1
    if plan.release is not None:
        batch.follow(item, plan.release)


def _count(report: DeliverReport, item: _Item, outcome: Outcome) -> None:
    lateness = outcome.started_at - item.release.run_at
    report.lateness_ms.append(lateness)
    report.early += lateness < 0
    if outcome.state is State.SUCCEEDED:
        report.succeeded += 1
    else:
        report.failed += 1


def _send_following(batch: _Batch) -> None:
    results = send_following(batch.world, [release for _, release in batch.following])
    for (item, _), why_not in zip(batch.following, results, strict=True):
        if why_not is not None:
            batch.fail(item, why_not)


def _new_claim(batch: _Batch) -> Claim:
    now = batch.world.clock.now()
    return Claim(batch.world.chance.token(), batch.deadline_at, now, batch.world.execution_expires_at(now))


def _delivery(release: Release, deadline_at: int) -> Delivery:
    return Delivery(release.execution_id, release.job_id, release.attempt, release.occurrence, deadline_at)


def _timeout_seconds(release: Release) -> float:
    target = release.occurrence.target
    return target.timeout_seconds if isinstance(target, HttpTarget) else AWS_TIMEOUT_SECONDS
