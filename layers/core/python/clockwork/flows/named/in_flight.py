"""The executions under way of a changed named job: which run, which wait and go on, and which are ended at once.

Claims tell which executions run. A waiting execution that is to end is ended here as a courtesy: its deliverer would
end it, too, when it comes due. A call that has thousands to end therefore ends so many, and says that others may be
under way. A receiver that reports later learns from its record that its job was deleted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import partial

import msgspec

from clockwork.domain.executions import WAITING, Execution, State
from clockwork.domain.fires.chains import release_at
from clockwork.domain.ids import ONLY_RUN, decode_execution
from clockwork.domain.lifecycle.parking import BEHIND_CIRCUIT, ramp
from clockwork.domain.limits.circuits import host_of
from clockwork.domain.named.endings import ended_at_once
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.releases import Deliver
from clockwork.domain.runs.beginning import is_run
from clockwork.domain.waits import NO_WAITS
from clockwork.flows.containment import contained
from clockwork.flows.graces import watch_graces
from clockwork.flows.named.unended import mark, unended
from clockwork.flows.outages import tolerated
from clockwork.flows.overlaps import note_ended
from clockwork.flows.records import MOST_REPLANS
from clockwork.flows.workflows import late
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: A call ends, or releases again, at most so many executions of a job: an api Lambda has 29 s for its answer.
MOST_AT_ONCE = 5_000
#: A call that may have died behind the job's row is repeated by its caller within this time (ms).
REPEATED_WITHIN_MS = 900_000


class UnderWay(msgspec.Struct, frozen=True):
    """The executions of a job that had not ended when it was changed, as far as their records were read.

    `running`: they have a claim, so an attempt may start. `waiting`: they go on at their time. `ended`: this call ended
    them. `all_seen`: no others are known to be unread.
    """

    running: Sequence[Execution] = ()
    waiting: Sequence[Execution] = ()
    ended: Sequence[Execution] = ()
    all_seen: bool = True


def apply_to_older(world: World, job: NamedJob, *, is_repeat: bool = False) -> UnderWay:
    """List what is under way of a job, and end at once what its row, as it was just written, does not want any more.

    Call this after the row was written. A deliverer claims first and reads that row last, so either it sees the change,
    or its claim is seen here. `is_repeat`: the row is that of an earlier call. If that one could not read all records,
    this one goes on behind its mark. Raises Unavailable.
    """
    seen = unended(world, job, is_repeat=is_repeat)
    stands, all_ended = _end(world, job, seen.found)
    nodes = _watch(world, seen.found, stands)
    if all_ended:
        mark(world, job, seen)
    if job.skips_from and job.definition.overlap == "skip" and seen.is_whole:
        note_ended(world, job, stands)
    running, waiting, ended = [], [], []
    for after in stands:
        if after.state is State.RUNNING:
            running.append(after)
        elif after.state in WAITING:
            waiting.append(after)
        else:
            ended.append(after)
    return UnderWay([*running, *nodes], waiting, ended, seen.all_seen and all_ended)


def _watch(world: World, found: Sequence[Execution], stands: Sequence[Execution]) -> Sequence[Execution]:
    """Make sure that a receiver that goes on though its job was deleted is stopped, and so is a run of a workflow.

    Returns the nodes of such runs that still run. Raises Unavailable.
    """
    noted: list[Execution] = []
    met: list[Execution] = []
    for before, after in zip(found, stands, strict=True):
        if after.cancel_noted_at is not None and after.state is State.RUNNING:
            (noted if before.cancel_noted_at is None else met).append(after)
    watch_graces(world, noted, met)
    return late.stop(world, runs) if (runs := [one for one in (*noted, *met) if is_run(one)]) else ()


def release_parked(world: World, job: NamedJob, waiting: Sequence[Execution], *, is_repeat: bool = False) -> None:
    """Deliver again what was parked for a host that is not the job's any more: no circuit of the new one knows of it.

    They leave at the rate of the sweeper's ramp, those due first at first. An execution that a pause of the client
    parked waits for the end of that pause, and an ordered execution waits in its place. `is_repeat`: the host was
    changed by an earlier call, if at all. Then nothing is released while a circuit of the job's own host is open, since
    that circuit may be what the executions wait for.

    An outage leaves it parked, until the old host recovers. The row stays, and finds the record moved on.
    """
    parked = [one for one in waiting if one.state is State.PARKED and one.reason == BEHIND_CIRCUIT]
    schedule = [one for one in parked if decode_execution(one.execution_id).run == ONLY_RUN]
    if not schedule or not job.is_alive or job.definition.ordering_key is not None:
        return
    with tolerated(world, log, "not released again: %s", {"action": "parked_not_released", "jobId": job.job_id}):
        now = world.clock.now()
        if is_repeat and (now > job.changed_at + REPEATED_WITHIN_MS or _is_shut(world, job)):
            return
        first = sorted(schedule, key=lambda one: one.due_at)[:MOST_AT_ONCE]
        leaving = zip(first, ramp(now, world.settings.sweep_seconds), strict=False)
        releases = [_again_at(job, one, at) for one, at in leaving]
        refused = world.releases.send(releases, world.clock.now()) if releases else ()
        if refused:
            log.warning("not released again: %s", refused[0].reason, extra={"action": "parked_not_released"})


def _again_at(job: NamedJob, parked: Execution, at: int) -> Deliver:
    """The release of what was parked, for an instant (ms) or its own if that is later: it is parked a moment before."""
    fresh = release_at(job, parked.due_at)
    run_at = max(at, fresh.run_at, parked.waits.next_attempt_at or 0)
    # What an attempt before this one waited for is in the record.
    waits = fresh.waits if parked.attempt == 0 else NO_WAITS
    return msgspec.structs.replace(fresh, attempt=parked.attempt + 1, run_at=run_at, waits=waits)


def _is_shut(world: World, job: NamedJob) -> bool:
    return host_of(job.definition.target) in world.regulation.circuits(job.client_id)


def _end(world: World, job: NamedJob, found: Sequence[Execution]) -> tuple[Sequence[Execution], bool]:
    """The executions as they stand once those were ended that are to end at once, and whether all of these were.

    They are saved together, and those that lost to another writer are judged again. An outage leaves an execution to
    its deliverer.
    """
    stands = list(found)
    ending = _endings(world, job, dict(enumerate(found)))
    left = dict(list(ending.items())[:MOST_AT_ONCE])
    for _ in range(1 + MOST_REPLANS):
        saves = world.executions.save([(stands[index], after) for index, after in left.items()]) if left else ()
        met: dict[int, Execution] = {}
        for (index, after), saved in zip(left.items(), saves, strict=True):
            if saved.ok:
                stands[index] = after
            elif saved.actual is not None:
                stands[index] = met[index] = saved.actual
            else:
                _not_ended(after, saved.unavailable or "its record has gone")
        left = _endings(world, job, met)
    for after in left.values():
        _not_ended(after, "its record keeps changing")
    return stands, len(ending) <= MOST_AT_ONCE


def _endings(world: World, job: NamedJob, stored: Mapping[int, Execution]) -> dict[int, Execution]:
    """Those of the executions that are to end at once, each as it is to end."""
    endings: dict[int, Execution] = {}
    for index, execution in stored.items():
        with contained(world.environment.faults, partial(_not_ended, execution), execution.execution_id):
            if (after := ended_at_once(job, execution, world.clock.now()).execution) is not None:
                endings[index] = after
    return endings


def _not_ended(execution: Execution, why_not: str) -> None:
    extra = {"action": "waiting_not_ended", "executionId": execution.execution_id}
    log.warning("not ended at once: %s", why_not, extra=extra)
