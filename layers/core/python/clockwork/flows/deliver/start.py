"""Start claimed items: hold each until its due instant, then check its named job, last of all before the start.

A changed, paused or deleted job ends the item unstarted. The deliverer claims first and checks then. A change of the
job writes the job's row first and then reads the claims. So either the check sees the change, or the change sees the
claim and its answer lists it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from clockwork.domain.errors import readable
from clockwork.domain.executions import WAITING, Execution, State
from clockwork.domain.ids import NamedJobId, decode_job
from clockwork.domain.lifecycle.attempts import Action, Plan, is_claimed, plan_unstarted
from clockwork.domain.lifecycle.expiry import ended_execution, is_expired, reason_of
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.releases import Release
from clockwork.flows.access import get_jobs
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.claim import end_unclaimed
from clockwork.flows.deliver.items import Item
from clockwork.flows.records import replace
from clockwork.flows.world import World

#: So many executions before the item's own are read to tell whether one is still under way: at first, and at most.
EARLIER = 10
MOST_EARLIER = 1_000


def hold_and_check(batch: Batch, claimed: Sequence[Item]) -> Iterator[int]:
    """Yield the indexes of the items to start, each no earlier than it is due. `claimed` is in order of `run_at`."""
    slot = 0
    while slot < len(claimed):
        batch.world.clock.hold_until(claimed[slot].release.run_at)
        now = batch.world.clock.now()
        due = [slot]
        while due[-1] + 1 < len(claimed) and claimed[due[-1] + 1].release.run_at <= now:
            due.append(due[-1] + 1)
        yield from _wanted(batch, claimed, due)
        slot = due[-1] + 1


def _wanted(batch: Batch, claimed: Sequence[Item], due: Sequence[int]) -> list[int]:
    """The indexes of the items that are still wanted. The others end, or fail."""
    named: dict[int, NamedJobId] = {}
    wanted = []
    for slot in due:
        with batch.failing(claimed[slot]):
            if _is_too_late(batch, claimed[slot]):
                continue
            job_ref = decode_job(claimed[slot].release.job_id)
            if isinstance(job_ref, NamedJobId):
                named[slot] = job_ref
            else:
                wanted.append(slot)
    return sorted([*wanted, *_wanted_by_their_jobs(batch, claimed, named)]) if named else wanted


def _wanted_by_their_jobs(batch: Batch, claimed: Sequence[Item], named: Mapping[int, NamedJobId]) -> list[int]:
    """The indexes of the items that their named jobs still want.

    If the table does not answer none of them is started: their messages come back and find our claim.
    """
    wanted: list[int] = []
    with batch.failing(*(claimed[slot] for slot in named)):
        jobs = get_jobs(batch.world, ((job_ref.client_id, job_ref.job_key) for job_ref in named.values()))
        for slot, job_ref in named.items():
            with batch.failing(claimed[slot]):
                job = readable(jobs[job_ref.client_id, job_ref.job_key])
                objection = _objection(batch.world, claimed[slot].release, job_ref, job)
                if objection is None:
                    wanted.append(slot)
                else:
                    _drop(batch, claimed[slot], *objection)
    return wanted


def _is_too_late(batch: Batch, item: Item) -> bool:
    """Whether the item's relevancy window has passed between claim and start: then it ends EXPIRED."""
    if item.seen is None:
        return end_unclaimed(batch, item)
    occurrence = item.release.occurrence
    if not is_expired(occurrence, batch.world.clock.now()):
        return False
    _drop(batch, item, State.EXPIRED, reason_of(occurrence))
    batch.report.expired += 1
    return True


def _objection(world: World, release: Release, job_ref: NamedJobId, job: NamedJob | None) -> tuple[State, str] | None:
    """The state in which an unwanted occurrence ends, and why it is unwanted; None if its job wants it.

    Raises Unreadable if an earlier execution of the job cannot be read.
    """
    if job is None or job.incarnation != job_ref.incarnation or not job.is_alive:
        return State.CANCELLED, "its job was deleted"
    if release.version is not None and job.state is JobState.PAUSED:
        return State.SKIPPED, "its job is paused"
    changed = release.version not in (None, job.version)
    if changed or (release.definition is not None and job.definition_digest != release.definition):
        return State.CANCELLED, "its job was changed"
    if release.occurrence.skip_overlap and _is_overlapping(world, release):
        return State.SKIPPED, "an earlier execution of its job has not ended"
    return None


def _is_overlapping(world: World, release: Release) -> bool:
    before, looked_at = release.execution_id, 0
    while looked_at < MOST_EARLIER:
        at_once = EARLIER if looked_at == 0 else 10 * EARLIER
        earlier = world.executions.list(release.job_id, at_once, before)
        if any(_is_under_way(execution, world.clock.now()) for execution in earlier):
            return True
        if len(earlier) < at_once or earlier[-1].state is not State.SKIPPED:
            return False
        # Executions that were skipped since then may hide the running one because of which they were skipped.
        before, looked_at = earlier[-1].execution_id, looked_at + at_once
    return False


def _is_under_way(execution: Execution, now: int) -> bool:
    return is_claimed(execution, now) or execution.state in WAITING


def _drop(batch: Batch, item: Item, state: State, reason: str) -> None:
    """End an item that is not to be started, visibly: at level `none` its end is all that is recorded of it."""
    batch.report.dropped += 1
    with batch.failing(item):
        _, stored = replace(batch.world, item.seen, partial(_plan_end, batch.world, item, state, reason), item.replans)
        batch.owe_callback(item, stored)


def _plan_end(world: World, item: Item, state: State, reason: str, stored: Execution | None) -> Plan:
    """Plan to end the record while our claim stands on it, or, at level `none`, while there is no record."""
    now = world.clock.now()
    if item.seen is None and stored is None:
        ended = ended_execution(item.release, state, reason, now, world.execution_expires_at(now))
        return Plan(Action.FINISH, reason, ended)
    if item.seen is not None and stored is not None and stored.claimant == item.seen.claimant:
        return Plan(Action.FINISH, reason, plan_unstarted(item.release, stored, state, reason, now))
    return Plan(Action.ABSORB, "somebody else has ended it or claimed it by now")
