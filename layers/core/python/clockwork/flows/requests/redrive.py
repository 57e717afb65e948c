"""Redrive dead executions, which delivers them after all; list them; or discard them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

import msgspec

from clockwork.domain import ids, instants
from clockwork.domain.errors import (
    ExecutionNotFound,
    InvalidRequest,
    NotDead,
    Problem,
    RefusedForGood,
    Unavailable,
    Unreadable,
    readable,
)
from clockwork.domain.executions import Execution
from clockwork.domain.ids import JobId, NamedJobId, NodeJob
from clockwork.domain.keys import plain_partitions
from clockwork.domain.lifecycle.ownership import is_of_client_since
from clockwork.domain.lifecycle.redrives import (
    RedrivePlan,
    discarded,
    is_begun_run,
    is_redrivable,
    nodes_again,
    place_of,
    plan_redrive,
    waits_redriven,
)
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.releases import Release
from clockwork.domain.requests.operations import Passed
from clockwork.domain.requests.quotas import Admit
from clockwork.domain.requests.trail import Note, unnoted
from clockwork.domain.storage.attention import DeadPage
from clockwork.domain.storage.rows import row_of_retry
from clockwork.domain.workflows.definition import WorkflowTarget
from clockwork.flows.access import get_by_key, get_jobs
from clockwork.flows.activity.budget import Budget
from clockwork.flows.outages import tolerated
from clockwork.flows.records import replace
from clockwork.flows.requests.read import READ_FIRST
from clockwork.flows.timeline.later import put_off
from clockwork.flows.timeline.put import put_and_check_each
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class DeadFilter(msgspec.Struct, frozen=True):
    """A filter of a client's dead executions: by the jobKey's beginning, and by due instants (ms, both included)."""

    prefix: str | None = None
    from_at: int | None = None
    to_at: int | None = None
    #: Executions that were created before this instant (ms) are of a client that had the id before, and pass no filter.
    since_at: int = 0

    def matches(self, execution: Execution) -> bool:
        """Whether the client's own execution passes the filter. One of an anonymous job has no jobKey to begin so."""
        if self.from_at is not None and execution.due_at < self.from_at:
            return False
        if self.to_at is not None and execution.due_at > self.to_at:
            return False
        if self.prefix is None:
            return True
        job = ids.decode_job(execution.job_id)
        return isinstance(job, NamedJobId) and job.job_key.startswith(self.prefix)


class Handled(msgspec.Struct, frozen=True):
    """How many dead executions were seen, and how many were changed; `next_before` asks for those behind them.

    `passed`: those that cannot be changed, and why.
    """

    seen: int
    changed: int
    next_before: str | None
    passed: Sequence[Passed] = ()


def list_dead(
    world: World, client_id: str, wanted: DeadFilter, limit: int, before: str | None, budget: Budget | None = None
) -> DeadPage:
    """Those of up to `limit` of a client's dead executions that pass the filter, as far as a Budget goes.

    A page may be short and not the last one. An execution that changed in the last moments may be missing, or may be
    listed although it is not DEAD any more.
    """
    # Those that were due last come first: what is due after the range is passed over unread, and behind it nothing is.
    is_bounded = wanted.to_at is not None and wanted.to_at < instants.LAST
    behind = f"{(wanted.to_at or 0) + 1:013d}" if is_bounded else None
    behind = before if behind is None or (before is not None and before < behind) else behind
    page = _listed(world.executions.dead, client_id, limit, behind, budget or Budget(world))
    is_over = wanted.from_at is not None and any(one.due_at < wanted.from_at for one in page.executions)
    return _matching(DeadPage(page.executions, None) if is_over else page, wanted)


def list_retrying(
    world: World, client_id: str, wanted: DeadFilter, limit: int, before: str | None, budget: Budget
) -> DeadPage:
    """The same of a client's executions that have failed and are tried again, whatever they were due at."""
    return _matching(_listed(world.executions.retrying, client_id, limit, before, budget), wanted)


def _listed(
    read: Callable[[str, int, str | None], DeadPage], client_id: str, limit: int, behind: str | None, budget: Budget
) -> DeadPage:
    """Up to `limit` executions of a list; fewer if the Budget ends: each may be 400 KB."""
    found: list[Execution] = []
    asked, left = READ_FIRST, limit
    while True:
        asked = min(asked, left)
        page = read(client_id, asked, behind)
        found += page.executions
        left, behind = left - asked, page.next_before
        if not left or behind is None or not budget.note_read():
            return DeadPage(found, behind)
        asked *= 4


def _matching(page: DeadPage, wanted: DeadFilter) -> DeadPage:
    # Nobody is told how many there are of the client that had the id before.
    own = [execution for execution in page.executions if is_of_client_since(wanted.since_at, execution)]
    return DeadPage(list(filter(wanted.matches, own)), page.next_before, len(own))


def redrive(world: World, execution: Execution, *, as_it_was: bool = False, again: tuple[str, ...] = ()) -> Execution:
    """Redrive a dead execution: release it again, to be delivered after all; returns its record, which waits now.

    An execution of a named job is delivered by the definition that its job has when the attempt starts. With
    `as_it_was` it is delivered as the record has it: that works also if the job was deleted. Raises NotDead, also for a
    deleted job's execution without `as_it_was`, and for an execution that waits already, redriven in the other way.
    Raises ExecutionNotFound if its record is gone by now. Raises Unavailable if the result is not certain: the caller
    may repeat. A run of a workflow goes on by the definition with which it began: with the nodes that failed and those
    in `again`, and all that come after them. Raises InvalidRequest for a name in `again` that is no node of it.
    """

    def plan(stored: Execution | None) -> RedrivePlan:
        if stored is None:
            raise ExecutionNotFound(execution.execution_id)
        job_ref = ids.decode_job(stored.job_id)
        job = get_by_key(world, *_place(job_ref)) if isinstance(job_ref, NamedJobId) else None
        _require_nodes(stored, again)
        return _plan(stored, job_ref, job, world.clock.now(), as_it_was=as_it_was, again=again)

    planned, waiting = replace(world, execution, plan)
    if planned.release is None or waiting is None:
        raise NotDead(planned.reason)
    _release(world, [planned.release])
    return waiting


def _require_nodes(stored: Execution, again: tuple[str, ...]) -> None:
    """Raise InvalidRequest for each name that is no node of a run. An execution that is no run has none."""
    if stored.kept.occurrence is None:
        return  # It is not redriven anyway.
    target = stored.kept.occurrence.target
    known = target.nodes.keys() if isinstance(target, WorkflowTarget) else ()
    problems = [Problem(f"/from/{i}", f'names no node: "{name}"') for i, name in enumerate(again) if name not in known]
    if problems:
        raise InvalidRequest(problems)


def redrive_dead(
    world: World, client_id: str, wanted: DeadFilter, limit: int, behind: str | None, *, admit: Admit
) -> Handled:
    """Redrive those of up to `limit` dead executions that pass the filter, those that were due first at first.

    Ordered ones of one call are released by due instant, then by sequence. `admit` is told how many occurrences that
    makes before anything is written, and raises if the client may not have so many. One whose named job cannot be read
    stays as it is, and is logged. Raises Unavailable if the result is not certain: the caller may repeat.
    """
    page = _oldest(world, client_id, wanted, limit, behind)
    admit(sum(map(is_redrivable, page.executions)), sum(map(nodes_again, page.executions)))
    plans = list(_plans(world, sorted(page.executions, key=place_of)))
    changed = [(before_, plan.execution) for before_, plan in plans if plan.execution is not None]
    kept, unkept = _save(world, changed)
    # An execution that waits already is released again: an earlier call may have died before it released it.
    going = [plan.release for _, plan in plans if plan.release and (plan.execution is None or plan.execution in kept)]
    _release(world, going)
    unfit = [Passed(one.execution_id, plan.reason) for one, plan in plans if plan.release is None]
    return Handled(len(page.executions), len(kept), page.next_before, [*unfit, *unkept])


def _oldest(world: World, client_id: str, wanted: DeadFilter, limit: int, behind: str | None) -> DeadPage:
    """A page of what passes the filter, from its earliest instant on: behind its latest one nothing is read."""
    if behind is None and wanted.from_at is not None:
        behind = f"{max(wanted.from_at, 0):013d}"
    page = world.executions.dead(client_id, limit, behind, oldest_first=True)
    is_over = wanted.to_at is not None and any(one.due_at > wanted.to_at for one in page.executions)
    return _matching(DeadPage(page.executions, None) if is_over else page, wanted)


def discard_dead(
    world: World, client_id: str, wanted: DeadFilter, limit: int, before: str | None, *, note: Note = unnoted
) -> Handled:
    """Discard those of up to `limit` dead executions that pass the filter: they stay DEAD, and leave the list.

    `note` is called before anything is written.
    """
    page = list_dead(world, client_id, wanted, limit, before)
    changes = [(execution, after) for execution in page.executions if (after := discarded(execution)) is not None]
    if changes:
        note(client_id)
    kept, unkept = _save(world, changes)
    return Handled(len(page.executions), len(kept), page.next_before, unkept)


def _save(world: World, changes: Sequence[tuple[Execution, Execution]]) -> tuple[list[Execution], list[Passed]]:
    """Make each change once; returns the records that were stored, and those that no store takes. Raises Unavailable.

    A record that another writer changed meanwhile is left as it is.
    """
    saves = world.executions.save(changes) if changes else ()
    refused = [one.unavailable for one in saves if one.unavailable is not None and not one.is_defect]
    if refused:
        raise Unavailable(refused[0])
    answers = list(zip(changes, saves, strict=True))
    unkept = [Passed(after.execution_id, one.unavailable or "") for (_, after), one in answers if one.is_defect]
    return [after for (_, after), saved in answers if saved.ok], unkept


def _plans(world: World, executions: Sequence[Execution]) -> Iterator[tuple[Execution, RedrivePlan]]:
    """The plan of each execution; of one whose job cannot be read, to leave it. Raises Unavailable."""
    # All wait from the same instant on, so that nothing but their own places decides about their order.
    now = world.clock.now()
    job_refs = {execution.job_id: ids.decode_job(execution.job_id) for execution in executions}
    jobs = get_jobs(world, (_place(ref) for ref in job_refs.values() if isinstance(ref, NamedJobId)))
    for execution in executions:
        job_ref = job_refs[execution.job_id]
        extra = {"action": "not_redriven", "executionId": execution.execution_id}
        plan = RedrivePlan("its job, or its record, cannot be read by this version")
        with tolerated(world, log, "an execution is not redriven: %s", extra, Unreadable):
            job = readable(jobs[_place(job_ref)]) if isinstance(job_ref, NamedJobId) else None
            # What waits already goes on in the way in which it was redriven.
            as_it_was = waits_redriven(execution) and execution.kept.source == "record"
            plan = _plan(execution, job_ref, job, now, as_it_was=as_it_was)
        yield execution, plan


def _place(job_ref: NamedJobId) -> tuple[str, str]:
    return job_ref.client_id, job_ref.job_key


def _plan(
    execution: Execution,
    job_ref: JobId,
    job: NamedJob | None,
    now: int,
    *,
    as_it_was: bool = False,
    again: tuple[str, ...] = (),
) -> RedrivePlan:
    if isinstance(job_ref, NodeJob):
        return RedrivePlan("it is a node of a run: redrive the run")
    as_it_was = as_it_was or (isinstance(job_ref, NamedJobId) and is_begun_run(execution))
    if not isinstance(job_ref, NamedJobId):
        return plan_redrive(execution, job_ref.partition_id, now, again=again)
    is_gone = job is None or not job.is_alive or job.incarnation != job_ref.incarnation
    if is_gone and not as_it_was and not waits_redriven(execution):
        return RedrivePlan("its job was deleted: redrive it with asItWas, which delivers what its record has")
    # If a named job is gone, any shard will do.
    partition_id = plain_partitions(1)[0] if job is None else job.partition_id
    revision = None if job is None else job.revision
    return plan_redrive(execution, partition_id, now, revision, as_it_was=as_it_was, again=again)


def _release(world: World, releases: Sequence[Release]) -> None:
    """Put the releases on the timeline and check their shards. A repeat puts the same rows.

    A release that the queue refuses is put off: its poller sends it, or gives it up as DEAD if the queue will never
    take it. An ordered one is not, since others would pass it. Raises Unavailable for that.
    """
    rows = [(row_of_retry(release, world.row_expires_at(release.run_at)), release) for release in releases]
    refused = put_and_check_each(world, [row for row, _ in rows]).refused if rows else {}
    late = [(release, refused[row.key]) for row, release in rows if row.key in refused]
    waiting = [one for one, error in late if isinstance(error, RefusedForGood) or one.occurrence.ordering_key is None]
    if waiting:
        put_off(world, waiting)
    for release, error in late:
        if release not in waiting:
            raise error
