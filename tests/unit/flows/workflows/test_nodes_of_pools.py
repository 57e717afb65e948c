"""Nodes that workers of a pool run, and nodes whose targets answer with a result."""

from __future__ import annotations

import json

import msgspec
import pytest

from clockwork.domain.executions import State
from clockwork.domain.pools.pool import Pool
from clockwork.domain.workflows.definition import Node
from clockwork.flows.pools.claim import Asked, Claimed, claim_for
from clockwork.flows.pools.reports import Ended, report_all
from clockwork.flows.requests.cancel import cancel_execution
from clockwork.flows.requests.reporting import Reported
from clockwork.settings import Settings
from clockwork.targets.pool import PoolTarget
from tests.support.dying import Crash, Dying
from tests.support.examples import ACME
from tests.support.flowing import Flowing, node
from tests.unit.flows.workflows.test_runs import MINE

POOL = Pool(name="etl", revision=1, principals=("w",), handlers=("work",), lease_seconds=60)
NODES = {"fetch": node(), "work": node("fetch", target=PoolTarget("etl", "work"), payload={}), "book": node("work")}


def pulled(*, nodes: dict[str, Node] = NODES) -> Flowing:
    """A run whose next node waits for a worker."""
    flowing = Flowing(settings=Settings.for_local().with_(shards=1, pools=("etl=normal",)))
    flowing.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",)))
    flowing.clockwork.ticket_keys.make("k" * 22)
    flowing.create(nodes)
    return flowing.run(30)


def claim(flowing: Flowing) -> list[Claimed]:
    """The answers to a worker that hands in all tickets that it can receive."""
    messages = flowing.clockwork.pool_queues.of("etl").receive()
    asked = [Asked(str(i) * 22, one.body, one.message_id) for i, one in enumerate(messages)]
    return claim_for(flowing.world, POOL, "w", ["work"], asked, flowing.clockwork.clock.now() + 29_000)


def test_a_worker_runs_a_node_and_its_result_goes_on() -> None:
    flowing = pulled()
    (answer,) = claim(flowing)
    assert answer.start is not None
    (taken,) = report_all(flowing.world, POOL, [Ended(answer.start.token, Reported(State.SUCCEEDED, b'{"rows":3}'))])
    assert not taken.is_stale
    flowing.run(30)
    assert flowing.started == ["fetch", "book"]
    assert flowing.marks == {"fetch": "ok", "work": "ok", "book": "ok"}
    assert flowing.record.state is State.SUCCEEDED
    context = json.loads(flowing.clockwork.targets.delivered[-1].occurrence.payload.body)
    assert context["nodes"]["work"]["result"] == {"rows": 3}


@pytest.mark.parametrize("last", [1, 2])
def test_a_report_whose_process_dies_is_followed_by_its_repeat_or_by_the_watch(last: int) -> None:
    for is_repeated in (True, False):
        flowing = pulled()
        (answer,) = claim(flowing)
        assert answer.start is not None
        ended = [Ended(answer.start.token, Reported(State.SUCCEEDED, b"1"))]
        with pytest.raises(Crash):
            report_all(Dying(flowing.world, last).world, POOL, ended)
        if is_repeated:
            report_all(flowing.world, POOL, ended)
        assert flowing.run(20 if is_repeated else 900).record.state is State.SUCCEEDED
        assert flowing.started == ["fetch", "book"]


def test_a_worker_gets_no_node_of_a_run_that_was_stopped() -> None:
    flowing = pulled()
    answer, _ = cancel_execution(flowing.world, MINE, flowing.execution_id)
    assert answer.verdict == "cancelled"
    (claimed,) = claim(flowing)
    assert (claimed.start, claimed.is_left) == (None, False)
    assert flowing.records()["work"].state is State.CANCELLED
    assert flowing.record.state is State.CANCELLED


def test_the_death_of_a_run_by_a_claim_is_told_by_a_deliverer() -> None:
    late = node(target=PoolTarget("etl", "work"), payload={}, relevancy_window_seconds=60)
    flowing = pulled(nodes={"work": late, "book": node("work")})
    flowing.run(120)
    (claimed,) = claim(flowing)
    assert claimed.start is None
    assert flowing.records()["work"].state is State.EXPIRED
    # The api sends no notice of a death: it has the run looked at.
    assert flowing.record.state is State.RUNNING
    assert flowing.run(10).record.state is State.DEAD


def test_a_worker_that_is_lost_is_replaced() -> None:
    retried = msgspec.structs.replace(NODES["work"].retry_policy, max_attempts=3, jitter="none")
    nodes = {**NODES, "work": msgspec.structs.replace(NODES["work"], retry_policy=retried)}
    flowing = pulled(nodes=nodes)
    (first,) = claim(flowing)
    assert first.start is not None
    flowing.run(120)
    (second,) = claim(flowing)
    assert second.start is not None
    assert second.start.release.attempt == 2
    report_all(flowing.world, POOL, [Ended(second.start.token, Reported(State.SUCCEEDED))])
    assert flowing.run(30).record.state is State.SUCCEEDED


def test_the_answer_of_a_webhook_is_the_result_of_its_node() -> None:
    nodes = {"check": node(), "book": node("check", payload={"risk": {"$from": "/nodes/check/result/risk"}})}
    flowing = Flowing(nodes)
    flowing.bodies["check"] = b'{"risk":"high"}'
    flowing.run(30)
    assert flowing.record.state is State.SUCCEEDED
    assert flowing.clockwork.targets.delivered[-1].occurrence.payload.body == b'{"risk":"high"}'
    report = flowing.records()["check"].end.report
    assert report is not None
    assert report.result == b'{"risk":"high"}'
