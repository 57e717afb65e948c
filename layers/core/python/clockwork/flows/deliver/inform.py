"""Ask whether items are still wanted before anything negative or costly is done: parking, a slot, a permit, an end.

An item that its job does not want any more, or that was cancelled while it waited, ends here and takes none of these.
Every other one is judged by the host, the window and the policies that its job has now. The look behind the claim is
what counts; this saves work.

The look gives an item what its job has for it then. The item was admitted for one target: its circuit, what its client
may name, the queue of its transport, the time that it needs. If the job has another target by then, the claim is given
back, no attempt is used up, and the release is sent anew. If the deliverer dies behind the record, the message comes
back, finds the record waiting, and is claimed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from clockwork.domain.clients import ClientUnreadable, Pause
from clockwork.domain.errors import Undecodable, readable
from clockwork.domain.executions import WAITING, Execution
from clockwork.domain.fires.hints import completed, hint_of
from clockwork.domain.ids import NamedJobId, decode_job, is_named
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.attempts import Action, Plan, plan_return, plan_unstarted
from clockwork.domain.lifecycle.awaited import caught_up, has_ended_for
from clockwork.domain.lifecycle.expiry import ended_execution, is_expired
from clockwork.domain.named.look import objection_to, was_started
from clockwork.domain.named.overlaps import WAITS, entrant_of, is_backfilled
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.ordering import order_of
from clockwork.flows.apart import jobs_apart
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.claim import LOST_CLAIM, end_all, later, read_records, with_records
from clockwork.flows.deliver.items import Item, is_still_ours, leave_to_its_watch
from clockwork.flows.deliver.park import park
from clockwork.flows.overlaps import look_for_a_way
from clockwork.flows.records import replace
from clockwork.flows.world import World
from clockwork.targets.target import StoredTarget


def informed(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """The items that are still wanted, with what their named jobs have for them now. The others end, or fail.

    A named job's row tells, and the record of what has waited: somebody may have cancelled it meanwhile.
    """
    asked = {id(item): item for item in items if _is_to_ask(item)}
    if not asked:
        return list(items)
    going = unended(batch, with_records(batch, list(asked.values())))
    for item in going:
        item.is_informed = True
    named = {id(item): item for item in going if item.release.follows_job}
    going = [item for item in going if id(item) not in named]
    refs = _refs(batch, named.values())
    with batch.failing(*(item for item, _ in refs)):
        jobs = jobs_apart(batch.world, ((ref.client_id, ref.job_key) for _, ref in refs))
        for item, ref in refs:
            with batch.failing(item):
                if _make_ready(batch, item, ref, readable(jobs[ref.client_id, ref.job_key])):
                    going.append(item)
    kept = {id(item) for item in going}
    return [item for item in items if id(item) not in asked or id(item) in kept]


def _refs(batch: Batch, items: Iterable[Item]) -> list[tuple[Item, NamedJobId]]:
    """The jobs of these items. An item whose client cannot be read is parked, or it would become a dead letter."""
    refs = []
    for item in items:
        with batch.failing(item):
            try:
                refs.append((item, ref_of(batch.world, item)))
            except ClientUnreadable as fault:
                park(batch, [item], "pause", str(fault))
    return refs


def unexpired(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """The items that can still start in time. The others end EXPIRED, as far as their jobs and records allow."""
    late = [item for item, is_late in batch.each(items, partial(_is_late, batch)) if is_late]
    if not late:
        return [item for item in items if not item.left]
    # Its job may have given it a longer window, or may not want it at all.
    asked = informed(batch, late)
    named = [item for item in asked if is_named(item.release.job_id)]
    in_time = {id(item) for item, is_late in batch.each(named, partial(_is_late, batch)) if not is_late}
    ending = [item for item in asked if id(item) not in in_time and not item.left]
    if ending:
        end_all(batch, ending)
    over = {id(item) for item in late} - in_time
    return [item for item in items if not item.left and id(item) not in over]


def _is_late(batch: Batch, item: Item) -> bool:
    return is_expired(item.release.occurrence, max(batch.world.clock.now(), item.release.run_at))


def needs_look(item: Item) -> bool:
    """Whether an item is asked about before all else: it waited, so much may have changed."""
    return item.release.has_waited or (item.release.waits.paced and is_named(item.release.job_id))


def _is_to_ask(item: Item) -> bool:
    release = item.release
    if item.is_informed or not release.is_recorded:
        return False
    return release.has_waited or release.follows_job


def unended(batch: Batch, items: Sequence[Item]) -> list[Item]:
    """The items whose executions have not ended, as far as their records were read; the others are done with."""
    judged = batch.each(items, lambda item: has_ended_for(item.release, item.seen))
    ended = [item for item, has_ended in judged if has_ended]
    if ended:
        end_all(batch, ended)
    return [item for item, has_ended in judged if not has_ended and not item.left]


def ref_of(world: World, item: Item) -> NamedJobId:
    """The job of a named job's item, which the caller reads next, once the pauses of its client are read.

    In this order the row of the job is not from before the end of a pause about which its `catchUp` decides, however
    long the calls take.
    """
    ref = decode_job(item.release.job_id)
    assert isinstance(ref, NamedJobId)
    if ref.client_id != item.release.occurrence.client_id:
        # The limits and rights of the one would judge what the other has made.
        raise Undecodable("its occurrence names another client than its job")
    item.pauses = _pauses_of(world, ref)
    return ref


def _make_ready(batch: Batch, item: Item, ref: NamedJobId, job: NamedJob | None) -> bool:
    """Give an item what its job has for it; False if it ends, waits on, or goes another way."""
    plan, _ = replace(batch.world, item.seen, partial(_plan, batch.world, item, ref, job), item.replans)
    if plan.action is Action.FINISH:
        return False
    if job is not None and _still_waits(batch.world, item, job):
        item.release = later(batch, item)
        batch.send_back([item])
        return False
    if job is not None:
        item.came_for = item.came_for or item.release.occurrence.target
        item.whole = completed(item.release.occurrence, job)
        item.release = msgspec.structs.replace(item.release, occurrence=hint_of(item.whole))
    if batch.waiting.resends and not batch.takes(item.release):
        read_back(batch, [item])
        batch.send_back([] if item.left else [item])
        return False
    return True


def read_back(batch: Batch, items: Sequence[Item]) -> None:
    """Read the records of items that go to another queue, and catch up with them.

    A worker takes no ticket of an attempt that has ended. The sender therefore catches up with the record of a
    deliverer that died since: this may be a duplicate that another one sent. An item whose record cannot be read fails.
    """
    read_records(batch, items)
    for item in items:
        item.release = caught_up(item.release, item.seen)


def _pauses_of(world: World, ref: NamedJobId) -> Sequence[Pause]:
    """The pauses of a job's client that have ended. The client may be as old as its cache says."""
    client = world.clients.get(ref.client_id)
    return () if client is None else client.pauses


def _plan(world: World, item: Item, ref: NamedJobId, job: NamedJob | None, stored: Execution | None) -> Plan:
    """Plan to end what waits and is not wanted. A claimed item, and one that has ended, is left to the claim."""
    if stored is not None and stored.state not in WAITING:
        return Plan(Action.START, "its claim decides")
    objection = objection_to(item.release, ref, job, item.pauses, is_started=was_started(stored))
    if objection is None:
        return Plan(Action.START, "its job wants it")
    now = world.clock.now()
    if stored is not None:
        ended = plan_unstarted(item.release, stored, objection.state, objection.reason, now, objection.ended_by)
        return Plan(Action.FINISH, objection.reason, ended)
    expires_at = world.execution_expires_at(now)
    first = ended_execution(item.release, objection.state, objection.reason, now, expires_at, objection.ended_by)
    return Plan(Action.FINISH, objection.reason, first)


def redirect(batch: Batch, item: Item, job: NamedJob) -> bool:
    """Complete the item by its job; True if it has to go another way instead, and is on it."""
    hint = item.release.occurrence
    whole = completed(hint, job)
    item.release = msgspec.structs.replace(item.release, occurrence=whole)
    # Nothing of an order ends by a report: a receiver at work would hold up all that lies behind it.
    leaves_order = whole.is_reported and not batch.waiting.resends
    is_rerouted = leaves_order or hint.ordering_key != whole.ordering_key
    is_rerouted = is_rerouted or _is_anothers(batch.world, item.came_for or hint.target, whole.target)
    is_alike = hint_of(hint).target == hint_of(whole).target and hint.completion == whole.completion
    if item.seen is None or (is_alike and not is_rerouted):
        return False
    if not is_rerouted and not batch.waiting.resends:
        # An ordered item keeps its place, and asks here what admission asked of the target before. What ends by a
        # report was rerouted, so this one ends by its answer, whatever its claim foresaw.
        item.refusal = _refusal(batch.world, whole)
        item.secret = None
        return False
    if leave_to_its_watch(item):
        return True
    item.release = msgspec.structs.replace(item.release.waiting(paced=False), occurrence=hint_of(whole), checked=False)
    order = order_of(whole.ordering_key, whole.target.lane, batch.world.settings.lanes)
    plan, _ = replace(batch.world, item.seen, partial(_plan_redirect, item, job, order), item.replans)
    if plan.action is Action.FOLLOW_UP:
        batch.report.deferred += 1
        item.is_given_back = True
        _send(batch, item, job, anew=is_rerouted and not batch.waiting.resends)
    else:
        batch.fail(item, LOST_CLAIM)
    return True


def _is_anothers(world: World, before: StoredTarget, after: StoredTarget) -> bool:
    """Whether another deliverer, with a queue of its own, delivers to the one target than to the other."""
    lanes = world.settings.lanes
    return before.lane != after.lane and not lanes.keys().isdisjoint((before.lane, after.lane))


def _still_waits(world: World, item: Item, job: NamedJob) -> bool:
    """Whether a backfilled fire that waits for others of its job has to wait on, so that it claims nothing in vain."""
    is_waiting = item.release.waits.permits > 0 and _waits_for_others(item, job)
    return is_waiting and not look_for_a_way(
        world, entrant_of(item.release, item.seen, item.order_in(world.settings.lanes), is_claimed=False), job
    )


def _waits_for_others(item: Item, job: NamedJob) -> bool:
    """Whether the item waits for others of its job that are under way, where a fire of its schedule is skipped."""
    return is_backfilled(item.release) and job.definition.overlap == "skip"


def _refusal(world: World, whole: Occurrence) -> str | None:
    """Why the client may not send to the target. A cached client may be older than the job, so it is asked anew."""
    reason = whole.target.against(world.clients.get(whole.client_id))
    return reason and whole.target.against(world.clients.get(whole.client_id, fresh=True))


def _plan_redirect(item: Item, job: NamedJob, order: str | None, stored: Execution | None) -> Plan:
    if stored is None or not is_still_ours(item, stored):
        return Plan(Action.ABSORB, "somebody else has ended it or claimed it by now")
    # A backfilled fire that has not begun is let through on its new way: until then no other one waits for it.
    reason = WAITS if _waits_for_others(item, job) else "its target was changed: it goes the way of the new one"
    waiting = plan_return(item.release, stored, reason, item.release.run_at)
    waits = msgspec.structs.replace(waiting.waits, order=order)
    return Plan(Action.FOLLOW_UP, reason, msgspec.structs.replace(waiting, waits=waits), item.release)


def _send(batch: Batch, item: Item, job: NamedJob, *, anew: bool) -> None:
    if not anew:
        batch.waiting.follow(item, item.release)
        return
    # The ordered queue of the other deliverer: there it lies behind what that queue has of its key. A queue that it
    # left not long ago would drop it as a repeat, but for the revision that sends it back.
    if item.release.revision is not None:
        item.release = item.release.of_its(revision=job.revision)
    refused = batch.world.releases.send([item.release], batch.world.clock.now())
    if refused:
        batch.fail(item, refused[0].reason)
