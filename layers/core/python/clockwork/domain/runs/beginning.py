"""The begin of a run: the claim of its deliverer becomes the claim of the run, which holds until the run's deadline.

From then on the record has the whole occurrence: a run keeps the definition with which it began. The *watch* of a run
comes now and then, and at its deadline. It starts no run.
"""

from __future__ import annotations

import msgspec

from clockwork.domain import ids
from clockwork.domain.executions import DAY_MS, Awaited, Execution, Kept, State
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.attempts import plan_unstarted
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS, STEP_MS, next_age, release_of
from clockwork.domain.releases import Deliver, Watch
from clockwork.domain.workflows.definition import WorkflowTarget
from clockwork.domain.workflows.graph import Graph, graph_of
from clockwork.domain.workflows.progress import Sets, first_sets
from clockwork.targets.message import Payload

_NO_PAYLOAD = Payload(b"")
MINUTE_MS = 60_000
#: The watch comes so often (ms) behind the deadline, until all nodes that run have had their time to stop.
BEHIND_DEADLINE_MS = 2 * MINUTE_MS
#: A run whose time is over ends so long (ms) behind its deadline, and some to spare: its nodes have a grace.
WINDS_DOWN_MS = DAY_MS
#: Nearly always it ends so long (ms) behind its deadline: a grace is a minute, and a watch comes each two.
STOPS_WITHIN_MS = 60 * MINUTE_MS
#: Nodes without a record are released again once a run has this age (ms), and each time that its age has doubled.
RELEASED_AGAIN_MS = 60 * MINUTE_MS
CANCELLED = "cancelled before it began"


class Beginning(msgspec.Struct, frozen=True):
    """The plan for the begin of a run: save `execution` first, if given. `is_lost`: the claim is not ours any more."""

    execution: Execution | None = None
    is_lost: bool = False


def is_run(stored: Execution | None) -> bool:
    """Whether the record is of a run that has begun, and has not ended."""
    return stored is not None and stored.awaited is not None and stored.awaited.is_run


def plan_begin(release: Deliver, claimed: Execution, stored: Execution | None, now: int) -> Beginning:
    """The plan of a deliverer that holds the claim `claimed`, for the record as it is stored now."""
    if stored is None or stored.claim is None or stored.attempt != claimed.attempt:
        return Beginning(is_lost=True)
    if is_run(stored):
        return Beginning()
    if stored.claimant != claimed.claimant:
        return Beginning(is_lost=True)
    if stored.cancel_noted_at is not None:
        return Beginning(plan_unstarted(release, stored, State.CANCELLED, CANCELLED, now))
    target, of = release.occurrence.target, release.of
    assert isinstance(target, WorkflowTarget), "only a run begins"
    lasts_ms = round(target.timeout_seconds * 1000)
    deadline_at = stored.claim.started_at + lasts_ms
    awaited = Awaited(heartbeat_ms=lasts_ms, deadline_at=deadline_at, accepted_at=now, is_run=True)
    claim = msgspec.structs.replace(stored.claim, until=deadline_at, awaited=awaited)
    kept = Kept(release.occurrence, None, of.partition_id, of.revision, of.source)
    return Beginning(stored.changed(claim=claim, kept=kept))


def occurrence_of(run: Execution) -> tuple[Occurrence, WorkflowTarget]:
    """The occurrence of a run that has begun, and its definition."""
    occurrence = run.kept.occurrence
    assert occurrence is not None and isinstance(occurrence.target, WorkflowTarget), "its record has its definition"
    return occurrence, occurrence.target


def deadline_of(run: Execution) -> int:
    """The end (ms) of a run that has begun, at the latest."""
    assert run.awaited is not None
    return run.awaited.deadline_at


def graph_of_run(run: Execution) -> Graph:
    """The graph of a run that has begun."""
    return graph_of(occurrence_of(run)[1].nodes)


def sets_of(run: Execution, kept_ms: int, *, stop: int = 0) -> Sets:
    """The sets with which a run begins. They are kept for `kept_ms` behind its end, as its record is."""
    expires_at = deadline_of(run) + WINDS_DOWN_MS + kept_ms
    run_id = ids.run_of(run.execution_id)
    partition_id = release_of(run).shard
    return first_sets(run_id, run.execution_id, partition_id, run.attempt, graph_of_run(run), expires_at, stop)


def watch_of_run(run: Execution, now: int) -> Watch:
    """The next watch of a run, for an instant that the age of the run tells."""
    assert run.claim is not None
    began_at, deadline_at = run.claim.started_at, deadline_of(run)
    age = now - began_at
    ends_at = deadline_at + CLAIM_GRACE_MS
    return watch_at(run, min(began_at + next_age(age), ends_at) if now < ends_at else now + BEHIND_DEADLINE_MS)


def watch_at(run: Execution, at: int) -> Watch:
    """The watch of a run for an instant (ms). It carries no definition, since the record has that."""
    whole = release_of(run)
    hint = msgspec.structs.replace(whole.occurrence, target=WorkflowTarget(), payload=_NO_PAYLOAD, is_hint=True)
    return Watch(whole.of, hint, at, run.attempt)


def is_over(run: Execution, now: int) -> bool:
    """Whether the time of a run is over."""
    return now >= deadline_of(run)


def releases_again(run: Execution, watch: Watch) -> bool:
    """Whether the run has come to an age at which its nodes without a record are released once more."""
    assert run.claim is not None
    age = watch.run_at - run.claim.started_at
    doubled = RELEASED_AGAIN_MS
    while doubled * 2 <= age:
        doubled *= 2
    return age - STEP_MS < doubled <= age
