"""Tell what an execution waits for: of its client's pause and of the circuit of its target as they are now."""

from __future__ import annotations

import logging

from clockwork.domain import ids
from clockwork.domain.errors import Unreadable
from clockwork.domain.executions import WAITING, Execution
from clockwork.domain.ids import AnonymousJob, NodeJob
from clockwork.domain.jobs import JobTarget, Occurrence
from clockwork.domain.lifecycle.holding import Holding, holding_of
from clockwork.domain.limits.circuits import host_of
from clockwork.domain.storage import codec
from clockwork.flows.access import get_by_key
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)


def what_holds(world: World, execution: Execution) -> Holding | None:
    """The cause of an execution's wait, by up to three reads; None, without a read, if it runs or has ended.

    The circuit of an anonymous job without a row is unknown. A failed read is ignored, since the caller asked for the
    execution itself.
    """
    if execution.state not in WAITING:
        return None
    is_paused, probe_at = False, None
    extra = {"action": "holding_not_known", "executionId": execution.execution_id}
    with tolerated(world, log, "what holds an execution is not known: %s", extra, Unreadable):
        client = world.clients.get(execution.client_id)
        is_paused = client is not None and client.paused
        probe_at = _probe_at(world, execution)
    return holding_of(execution, world.clock.now(), is_paused=is_paused, probe_at=probe_at)


def _probe_at(world: World, execution: Execution) -> int | None:
    circuits = world.regulation.circuits(execution.client_id)
    target = _target_of(world, execution) if circuits else None
    circuit = None if target is None else circuits.get(host_of(target) or "")
    return None if circuit is None else circuit.probe_at


def _target_of(world: World, execution: Execution) -> JobTarget | None:
    if execution.kept.occurrence is not None and not execution.kept.occurrence.is_hint:
        return execution.kept.occurrence.target
    job_ref = ids.decode_job(execution.job_id)
    if isinstance(job_ref, NodeJob):
        return None  # Only the record of its run has it.
    if not isinstance(job_ref, AnonymousJob):
        job = get_by_key(world, job_ref.client_id, job_ref.job_key)
        return None if job is None else job.definition.target
    row = world.timeline.find([(job_ref.partition_id, job_ref.key)])[0]
    element = None if row is None else codec.decode_row(row.blob).get(job_ref.element)
    return element.target if isinstance(element, Occurrence) else None
