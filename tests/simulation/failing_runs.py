"""Scenes of workflows that fail: a run that ends DEAD and calls back, and one that is redriven while it goes on."""

from __future__ import annotations

from typing import Any

import msgspec

from clockwork.domain.executions import State
from clockwork.domain.requests.create import NewJob
from clockwork.domain.runs.beginning import is_run
from clockwork.domain.workflows.definition import Node, WorkflowTarget
from clockwork.flows.requests import redrive
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from tests.simulation.clients import Visit, ask_again
from tests.simulation.requests import CALLED_BACK, KeyedRequest
from tests.simulation.scenes import NEAR, TARGET, Steps, job_of, keyed_request
from tests.simulation.targets import REJECTING_HOST


def dead_run() -> Steps:
    """One node is refused permanently, and the payload of another points to a result that there is not."""
    refused = HttpTarget(REJECTING_HOST, timeout_seconds=5)
    nodes = {
        "good": _node(b'"good of a dead run"'),
        "refused": _node(b'"refused of a dead run"', "good", target=refused),
        "unfilled": _node(b'{"$from":"/nodes/good/result/missing"}', "good"),
        "behind": _node(b'"behind of a dead run"', "refused", "unfilled"),
    }
    return [(1_000, _asks("dead run", _job(nodes, b'"dead run"')))]


def redriven_run() -> Steps:
    """A run that has ended DEAD is redriven twice at once: each call is one of another generation, or refused."""
    nodes = {
        "refused": _node(b'"refused of a redriven run"', target=HttpTarget(REJECTING_HOST, timeout_seconds=5)),
        "behind": _node(b'"behind of a redriven run"', "refused"),
    }
    asks = _asks("redriven run", _job(nodes, b'"redriven run"'))
    return [(1_000, asks), (20_000, _redrive_dead), (20_000, _redrive_dead), (60_000, _redrive_dead)]


def _job(nodes: dict[str, Node], payload: bytes) -> NewJob:
    return msgspec.structs.replace(job_of(payload, 1_000), target=WorkflowTarget(nodes, 900), on_failure=CALLED_BACK)


def _node(payload: bytes, *after: str, **fields: Any) -> Node:
    return Node(**{"target": TARGET, "after": after, "payload": payload, "retry_policy": NEAR, **fields})


def _asks(key: str, job: NewJob) -> Any:
    return lambda visit: ask_again(visit, KeyedRequest(keyed_request(key, [job]), visit.now))


def _redrive_dead(visit: Visit) -> None:
    client_id = visit.client.client_id
    visit.watcher.redriven.add(client_id)

    def flow(world: World, _: object) -> None:
        for run in visit.desk.cloud.stores.executions.all():
            if run.client_id == client_id and run.state is State.DEAD and is_run(run):
                redrive.redrive(world, run)

    visit.call_until_answered(flow)
