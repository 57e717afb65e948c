"""Start claimed items: hold each until its due instant, then look at its named job, last of all before the start.

The look ends an item that its job does not want any more, and gives every other one what its job has for it now: the
payload, the target, the policies. The deliverer claims first and looks then. A change of the job writes the job's row
first and then reads the claims. Therefore either the look sees the change, or the change sees the claim and its answer
lists it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from clockwork.domain.errors import readable
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import NamedJobId, is_named
from clockwork.domain.lifecycle.attempts import Action, Plan, plan_unstarted
from clockwork.domain.lifecycle.expiry import ended_execution, is_expired, reason_of
from clockwork.domain.named.look import Objection, objection_to, was_started
from clockwork.domain.named.overlaps import WAITS, entrant_of, is_backfilled
from clockwork.domain.named_jobs import NamedJob
from clockwork.flows.apart import jobs_apart
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.claim import LOST_CLAIM, end_unclaimed, give_back
from clockwork.flows.deliver.inform import redirect, ref_of
from clockwork.flows.deliver.items import Item, is_still_ours, leave_to_its_watch
from clockwork.flows.overlaps import why_not_through
from clockwork.flows.records import replace
from clockwork.flows.workflows import late
from clockwork.flows.world import World


def hold_and_check(batch: Batch, claimed: Sequence[Item]) -> Iterator[int]:
    """Yield the indexes of the items to start, each no earlier than it is due. `claimed` is in order of `run_at`."""
    slot = 0
    while slot < len(claimed):
        batch.world.clock.hold_until(claimed[slot].release.run_at)
        now = batch.world.clock.now()
        due = [slot]
        while due[-1] + 1 < len(claimed) and claimed[due[-1] + 1].release.run_at <= now:
            due.append(due[-1] + 1)
        yield from wanted(batch, claimed, due)
        slot = due[-1] + 1


def wanted(batch: Batch, claimed: Sequence[Item], due: Sequence[int]) -> list[int]:
    """The indexes of the items that are still wanted. The others end, or fail."""
    named: dict[int, NamedJobId] = {}
    going, nodes = list[int](), list[int]()
    for slot in _owned(batch, claimed, due):
        with batch.failing(claimed[slot]):
            if is_named(claimed[slot].release.job_id):
                named[slot] = ref_of(batch.world, claimed[slot])
            elif claimed[slot].release.of.node is not None:
                nodes.append(slot)
            elif not _end_if_late(batch, claimed[slot]):
                going.append(slot)
    if nodes:
        going += _wanted_by_their_runs(batch, claimed, nodes)
    return sorted([*going, *_wanted_by_their_jobs(batch, claimed, named)]) if named else sorted(going)


def _owned(batch: Batch, claimed: Sequence[Item], due: Sequence[int]) -> list[int]:
    """The indexes of the items whose client was not deleted. The others end, or fail."""
    for slot in due:
        if (objection := claimed[slot].objection) is not None:
            _drop(batch, claimed[slot], objection)
    return [slot for slot in due if claimed[slot].objection is None]


def _wanted_by_their_jobs(batch: Batch, claimed: Sequence[Item], named: Mapping[int, NamedJobId]) -> list[int]:
    """The indexes of the items that their named jobs still want.

    An item about whose job the table does not answer is not started: its message comes back and finds our claim.
    """
    wanted: list[int] = []
    with batch.failing(*(claimed[slot] for slot in named)):
        jobs = jobs_apart(batch.world, ((job_ref.client_id, job_ref.job_key) for job_ref in named.values()))
        for slot, job_ref in named.items():
            with batch.failing(claimed[slot]):
                job = readable(jobs[job_ref.client_id, job_ref.job_key])
                # The window is that of its job as it is now.
                if _let_start(batch, claimed[slot], job_ref, job) and not _end_if_late(batch, claimed[slot]):
                    wanted.append(slot)
    return wanted


def _wanted_by_their_runs(batch: Batch, claimed: Sequence[Item], nodes: Sequence[int]) -> list[int]:
    """The indexes of the nodes of workflows that their runs still want.

    The claim comes first and the look at the sets of the run last, as with the row of a named job.
    """
    wanted: list[int] = []
    with batch.failing(*(claimed[slot] for slot in nodes)):
        found = late.objections(batch.world, [claimed[slot].release.job_id for slot in nodes])
        for slot, objection in zip(nodes, found, strict=True):
            with batch.failing(claimed[slot]):
                if isinstance(objection, Exception):
                    raise objection
                if objection is not None:
                    _drop(batch, claimed[slot], objection)
                elif not _end_if_late(batch, claimed[slot]):
                    wanted.append(slot)
    return wanted


def _end_if_late(batch: Batch, item: Item) -> bool:
    """End an item EXPIRED if its relevancy window has passed between claim and start; False if it has not."""
    if item.seen is None:
        return end_unclaimed(batch, item)
    occurrence = item.release.occurrence
    if not is_expired(occurrence, batch.world.clock.now()):
        return False
    _drop(batch, item, Objection(State.EXPIRED, reason_of(occurrence)))
    batch.report.expired += 1
    return True


def _let_start(batch: Batch, item: Item, job_ref: NamedJobId, job: NamedJob | None) -> bool:
    """Let an item start, with what its job has for it. False: it ends, or its claim is given back.

    Raises Unreadable if an earlier execution of the job cannot be read.
    """
    objection = objection_to(item.release, job_ref, job, item.pauses, is_started=was_started(item.seen))
    if objection is not None:
        _drop(batch, item, objection)
        return False
    if job is None or not item.release.follows_job:
        return True
    # Whoever takes an item that goes another way judges it there: an order has another rule for others under way.
    if redirect(batch, item, job):
        return False
    if job.definition.overlap != "skip":
        return True
    entrant = entrant_of(item.release, item.seen, item.order_in(batch.world.settings.lanes))
    why_not = why_not_through(batch.world, entrant, job, item.replans)
    if why_not is not None and is_backfilled(item.release):
        give_back(batch, item, WAITS)
    elif why_not is not None:
        _drop(batch, item, Objection(State.SKIPPED, why_not))
    return why_not is None


def _drop(batch: Batch, item: Item, objection: Objection) -> None:
    """End an item that is not to be started, visibly: at level `none` its end is all that is recorded of it."""
    if leave_to_its_watch(item):
        return
    with batch.failing(item):
        plan, stored = replace(batch.world, item.seen, partial(_plan_end, batch.world, item, objection), item.replans)
        if plan.action is Action.ABSORB and item.seen is not None:
            batch.fail(item, LOST_CLAIM)
        else:
            batch.owe(item, stored)


def _plan_end(world: World, item: Item, objection: Objection, stored: Execution | None) -> Plan:
    """Plan to end the record while our claim stands on it, or, at level `none`, while there is no record."""
    now, state, reason = world.clock.now(), objection.state, objection.reason
    if item.seen is None and stored is None:
        expires_at = world.execution_expires_at(now)
        ended = ended_execution(item.release, state, reason, now, expires_at, objection.ended_by)
        return Plan(Action.FINISH, reason, ended)
    if stored is not None and is_still_ours(item, stored):
        ended = plan_unstarted(item.release, stored, state, reason, now, objection.ended_by)
        return Plan(Action.FINISH, reason, ended)
    return Plan(Action.ABSORB, "somebody else has ended it or claimed it by now")
