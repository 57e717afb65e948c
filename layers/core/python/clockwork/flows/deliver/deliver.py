"""Deliver released occurrences as they come due: claim, hold to the millisecond, deliver, record, retry.

The deliverer acknowledges a message only when nothing depends on it any more: its outcome is recorded, and the retry or
callback that follows is released. If the deliverer dies before that, the message comes back, and the record tells how
far the attempt got.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from clockwork.domain.ends.telling import errand_of, plan_asked
from clockwork.domain.executions import Outcome, State
from clockwork.domain.lifecycle.attempts import Plan
from clockwork.domain.lifecycle.awaited import missed_at
from clockwork.domain.lifecycle.awaiting import is_asked
from clockwork.domain.lifecycle.tokens import Token
from clockwork.domain.releases import Check, Delivery, Release, Watch
from clockwork.domain.storage.checks import check_of, ticket_of
from clockwork.domain.workflows.definition import WorkflowTarget
from clockwork.flows.deaths import notify_dead
from clockwork.flows.deliver.admission import admit, in_turns
from clockwork.flows.deliver.batch import LONGEST_HOLD_MS, Batch
from clockwork.flows.deliver.circuits import give_probes_back, update_circuits
from clockwork.flows.deliver.claim import carry_out, claim, claim_of_watch, end_watched, look, read_records
from clockwork.flows.deliver.concurrency import give_back_all, note_ended
from clockwork.flows.deliver.inbox import Inbox, Message, opened, resend_alone
from clockwork.flows.deliver.inform import read_back, unexpired
from clockwork.flows.deliver.items import DeliverReport, Item, Received, leave_to_its_watch
from clockwork.flows.deliver.outcome import put_off_unbegun, record, record_first_failures
from clockwork.flows.deliver.park import is_held
from clockwork.flows.deliver.start import hold_and_check
from clockwork.flows.deliver.waiting import Resent
from clockwork.flows.timeline.retries import send_retries
from clockwork.flows.workflows import late
from clockwork.flows.workflows.follow import follow_ends
from clockwork.flows.world import World

#: This much time is kept at the end of an invocation to record the outcomes (ms).
RECORD_MARGIN_MS = 1_500


def deliver_batch(world: World, messages: Sequence[Message], deadline_at: int) -> DeliverReport:
    """Deliver each message of a batch that is due; the report names those that come back. One bad message fails alone.

    `deadline_at` (ms): the end of the invocation.
    """
    waiting = Resent(world)
    batch = Batch(world, deadline_at, waiting)
    # 1. Attempt the items that are due.
    attempt(batch, opened(batch, messages))
    # 2. Release retries, and failed items of bundles. Only then are the messages acknowledged.
    unsent = send_retries(world, [release for _, release in waiting.following])
    for index, why_not in unsent.items():
        batch.fail(waiting.following[index][0], why_not)
    record_first_failures(batch, [waiting.following[index][0] for index in unsent])
    tell_of_deaths(batch)
    resend_alone(batch)
    return batch.report


def attempt(batch: Batch, inbox: Inbox) -> None:
    """Make an attempt at each item that is due, and record its outcome. The others go back or are parked."""
    # 1. Work off the watches, which start nothing, and let checks become the tickets that were missed. Then claim:
    #    from here on no other deliverer starts these attempts.
    asking = end_watched(batch, look(batch, inbox.watches)) if inbox.watches else []
    missed = _missed(batch, look(batch, inbox.checks)) if inbox.checks else []
    items = [*inbox.items, *missed]
    # 2. Hold each item until it is due, check that its job still wants it, start it. None waits for another's answer.
    targets = batch.world.targets
    # An invocation that failed may have left attempts under way in this environment: their outcomes are not awaited.
    targets.forget()
    claimed = _started(batch, items)
    give_probes_back(batch.world, items)
    for run in batch.runs:
        with batch.failing(run):
            assert run.seen is not None, "it was claimed"
            late.carry_on(batch.world, run.release, run.seen)
    batch.runs.clear()
    # 3. Record outcomes as they come in, and those of which services tell that are asked meanwhile.
    record_refused(batch)
    _begin_asking(batch, asking, len(claimed))
    while ended := targets.collect():
        outcomes = [(claimed[slot], outcome) for slot, outcome in ended if slot < len(claimed)]
        _end_asked(batch, [(asking[at], one) for slot, one in ended if (at := slot - len(claimed)) >= 0])
        if unbegun := [one for one in outcomes if one[1].state is State.PENDING]:
            put_off_unbegun(batch, unbegun)
        begun = [one for one in outcomes if one[1].state is not State.PENDING]
        record(batch, begun)
        update_circuits(batch.world, begun)
        note_ended(batch, outcomes)
    give_back_all(batch)
    # 4. Send notices of the deaths, and call back where a job asks for it.
    tell_of_deaths(batch)


def _started(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """Claim and start the items that may start, each at its `run_at`; they are known by their places in the answer.

    Nothing of a client whose gate takes no call waits for the gates of the others, if it is due.
    """
    # 1. Send back the items that are early, or cannot end in time, with the rest of their delay. The record of one that
    #    has waited for long may go before its next message does, so it is looked at first.
    turns = in_turns(batch, _in_time(batch, look(batch, items)))
    # 2. End the items that are not wanted or too late. Those that a cap, a pause or an open circuit holds back wait or
    #    are parked.
    ready, started = claim(batch, admit(batch, turns.open)), list[Item]()
    if turns.limited:
        now = batch.world.clock.now()
        due = [item for item in ready if item.release.run_at <= now]
        _start(batch, started, due)
        ready = [*ready[len(due) :], *claim(batch, admit(batch, turns.limited))]
    _start(batch, started, sorted(ready, key=lambda item: item.release.run_at))
    if turns.slow:
        _start(batch, started, claim(batch, admit(batch, turns.slow)))
    return started


def _start(batch: Batch, started: list[Item], claimed: Sequence[Item]) -> None:
    """Start claimed items, each when it is due, in the places behind those that were started before."""
    first = len(started)
    started.extend(claimed)
    for slot in hold_and_check(batch, claimed):
        with batch.failing(claimed[slot]):
            _begin(batch, first + slot, claimed[slot])


def _missed(batch: Batch, checks: Sequence[Received]) -> list[Item]:
    """The tickets that the checks miss. The other checks are done with.

    If the deliverer dies behind such a ticket, the check comes back and makes one more, which a claim absorbs.
    """
    read_records(batch, checks)
    found = batch.each([check for check in checks if not check.left], partial(_ticket_of, batch))
    return unexpired(batch, [ticket for _, ticket in found if ticket is not None])


def _ticket_of(batch: Batch, received: Received) -> Item | None:
    """The ticket of a check that is to be sent again. None if the check is done with."""
    world, now, stored, check = batch.world, batch.world.clock.now(), received.seen, received.release
    assert isinstance(check, Check), "the inbox has the checks apart"
    wait_ms = world.settings.ticket_check_seconds * 1000
    at = missed_at(check, stored, wait_ms)
    if at is None:
        batch.absorb(received, stored)
        return None
    if stored is not None and stored.state is State.PARKED and is_held(world, check.occurrence.client_id):
        # It lies in its parked row. Once it is unparked, nothing but this check tells of a lost ticket.
        at = now + wait_ms
    if stored is None or at <= now:
        ticket = ticket_of(check, stored)
        return Item(received.message_id, ticket, stored, came_back=received.came_back, is_read=True)
    # The checks of all attempts before get the same row: they become one.
    received.left = True
    batch.waiting.follow(received, check_of(check, stored.attempt + 1, at))
    return None


def note_refusal(batch: Batch, item: Item) -> bool:
    """Note that the client of an item may not send to its target any more, which is an outcome; False if it may.

    It is none once the invocation is over, as when the environment was frozen: the client was asked minutes ago, and a
    refusal is permanent. Then the item fails, and whoever gets its message next asks again.
    """
    if item.refusal is None:
        return False
    now = batch.world.clock.now()
    if leave_to_its_watch(item):
        return True
    if now < batch.deadline_at:
        batch.refused.append((item, Outcome(State.FAILED, now, now, permanent=True, error=item.refusal)))
    else:
        batch.fail(item, "its invocation was over before its refusal was recorded")
    return True


def record_refused(batch: Batch) -> None:
    """Record the refusals that were noted."""
    record(batch, batch.refused)
    batch.refused.clear()


def tell_of_deaths(batch: Batch) -> None:
    """Send notices of the deaths of a batch, and do what follows from its ends: callbacks, and the next steps of runs.

    A worker's claim runs in an api, which sends no notices of runs.
    """
    if batch.dead:
        notify_dead(batch.world, batch.dead)
        batch.dead.clear()
    if batch.ended:
        ended = [(item.release, stored) for item, stored in batch.ended]
        for one in follow_ends(batch.world, ended, buries=batch.worker is None):
            batch.fail(batch.ended[one.index][0], f"what follows from its end is not certain: {one.reason}")
        batch.ended.clear()


def _begin(batch: Batch, slot: int, item: Item) -> None:
    if note_refusal(batch, item):
        return
    if isinstance(item.release.occurrence.target, WorkflowTarget):
        batch.runs.append(item)
        return
    batch.world.targets.begin(slot, _delivery(item, batch.deadline_at - RECORD_MARGIN_MS))
    item.is_started = True


def _begin_asking(batch: Batch, watches: Sequence[Received], first: int) -> None:
    """Ask the service about the attempt of each watch, in the slots from `first` on.

    Each asks on a thread of its own, and no longer than an attempt may take. A service that is slow holds up nothing
    but its watches, which are sent again.
    """
    now = batch.world.clock.now()
    for slot, watch in enumerate(watches, first):
        with batch.failing(watch):
            running = watch.seen
            assert running is not None and running.kept.occurrence is not None, "it is accepted"
            occurrence = running.kept.occurrence
            until = now + int(occurrence.target.seconds(batch.world.settings) * 1000)
            errand = Delivery(
                running.execution_id,
                running.job_id,
                running.attempt,
                occurrence,
                min(until, batch.deadline_at - RECORD_MARGIN_MS),
                node=running.kept.node,
                begun=running.budget.begun,
                errand=errand_of(running, now),
            )
            batch.world.targets.begin(slot, errand)


def _end_asked(batch: Batch, answered: Sequence[tuple[Received, Outcome]]) -> None:
    """End what has ended by the answers, and send every other watch again."""
    answers = {id(watch): answer for watch, answer in answered}

    def plan(watch: Received) -> Plan:
        assert isinstance(watch.release, Watch), "only a watch asks"
        return plan_asked(watch.release, watch.seen, answers[id(watch)], claim_of_watch(batch))

    carry_out(batch, [watch for watch, _ in answered], plan)


def _in_time(batch: Batch, items: Sequence[Item]) -> list[Item]:
    now = batch.world.clock.now()
    judged = batch.each(items, lambda item: _is_ready(batch, item.release, now))
    back = [item for item, is_ready in judged if not is_ready]
    read_back(batch, [item for item in back if not batch.takes(item.release)])
    batch.send_back([item for item in back if not item.left])
    return [item for item, is_ready in judged if is_ready]


def _is_ready(batch: Batch, release: Release, now: int) -> bool:
    if not batch.takes(release):
        return False
    end_at = max(now, release.run_at) + int(release.occurrence.target.seconds(batch.world.settings) * 1000)
    return release.run_at - now < LONGEST_HOLD_MS and end_at <= batch.deadline_at - RECORD_MARGIN_MS


def _delivery(item: Item, deadline_at: int) -> Delivery:
    release = item.release
    ids, begun = (release.execution_id, release.job_id, release.attempt), 0
    token = None if item.secret is None else str(_token(item, item.secret))
    if item.seen is not None and is_asked(item.seen):
        # Its service tells its end, and nobody else may.
        token, begun = None, item.seen.budget.begun
    return Delivery(*ids, release.occurrence, deadline_at, token, release.of.node, begun, run_at=release.run_at)


def _token(item: Item, secret: str) -> Token:
    token = Token(item.release.execution_id, item.release.attempt, secret)
    return token if item.check_key is None else token.checked(item.check_key)
