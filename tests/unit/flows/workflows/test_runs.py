"""A run of a workflow goes from node to node, by the rules of its definition."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import State
from clockwork.domain.policies import Completion, RetryPolicy
from clockwork.domain.releases import Delivery
from clockwork.domain.workflows.definition import Condition, Node
from clockwork.flows.access import Caller
from clockwork.flows.requests.reporting import Reported, report
from tests.support.dying import Dying
from tests.support.examples import ALICE, TARGET
from tests.support.flowing import QUEUE, Flowing, node

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))
ASKED = Completion(heartbeat_seconds=600, timeout_seconds=3_600)


def reporting(flowing: Flowing, results: dict[str, Any]) -> None:
    """Let the receivers of nodes that end by callback report these results, once their attempts were accepted."""
    told: dict[str, Delivery] = {}
    flowing.on_attempt = lambda delivery, name: told.__setitem__(name, delivery)
    for name, result in results.items():
        flowing.run(10)
        delivery = told[name]
        said = Reported(State.SUCCEEDED, msgspec.json.encode(result))
        report(flowing.world, MINE, delivery.execution_id, str(delivery.token), said)


def asked(*after: str, **fields: Any) -> Node:
    """A node that ends by the report of a receiver."""
    return node(*after, **{"target": QUEUE, "completion": ASKED, **fields})


def test_a_chain_runs_one_node_after_the_other() -> None:
    flowing = Flowing({"a": node(), "b": node("a"), "c": node("b")}).run()
    assert flowing.started == ["a", "b", "c"]
    assert flowing.marks == {"a": "ok", "b": "ok", "c": "ok"}
    assert flowing.record.state is State.SUCCEEDED
    assert flowing.record.claim is None
    assert {one.state for one in flowing.records().values()} == {State.SUCCEEDED}
    assert not flowing.clockwork.queue.messages or flowing.run(1_000).started == ["a", "b", "c"]


def test_the_order_of_the_definition_tells_nothing() -> None:
    flowing = Flowing({"c": node("b"), "b": node("a"), "a": node()}).run()
    assert flowing.started == ["a", "b", "c"]


def test_a_fan_of_99_joins_once() -> None:
    wide = {f"n{index}": node("root") for index in range(98)}
    flowing = Flowing({"root": node(), **wide, "sink": node(*wide)}).run()
    assert flowing.started[0] == "root"
    assert flowing.started[-1] == "sink"
    assert sorted(flowing.started[1:-1]) == sorted(wide)
    assert flowing.record.state is State.SUCCEEDED


def test_a_failure_leaves_what_follows_unreached_and_is_handled_and_cleaned_up() -> None:
    nodes = {
        "fetch": node(),
        "book": node("fetch"),
        "tell": node("book"),
        "undo": node("book", when="failed"),
        "clean": node("tell", "undo", when="ended"),
    }
    flowing = Flowing(nodes, fail="book").run()
    assert flowing.started == ["fetch", "book", "undo", "clean"]
    assert flowing.marks == {"fetch": "ok", "book": "bad", "tell": "off", "undo": "ok", "clean": "ok"}
    assert flowing.record.state is State.DEAD
    assert flowing.record.reason == "permanent failure: 2 of its 5 nodes failed or were not reached: book, tell"
    assert flowing.record.needs_attention
    assert not flowing.records()["book"].needs_attention
    # A run that succeeds has nothing to undo.
    flowing = Flowing(nodes).run()
    assert flowing.started == ["fetch", "book", "tell", "clean"]
    assert flowing.record.state is State.SUCCEEDED


def test_an_optional_node_may_fail() -> None:
    flowing = Flowing({"a": node(), "thumbs": node("a", optional=True), "c": node("a", "thumbs")}, fail="thumbs").run()
    assert flowing.started[0] == "a"
    assert sorted(flowing.started) == ["a", "c", "thumbs"]
    assert flowing.record.state is State.SUCCEEDED


def test_other_branches_go_on_when_one_fails() -> None:
    flowing = Flowing({"a": node(), "b": node("a"), "x": node(), "y": node("x")}, fail="a").run()
    assert sorted(flowing.started) == ["a", "x", "y"]
    assert flowing.record.state is State.DEAD


def test_a_node_is_retried_by_its_own_policy() -> None:
    steady = RetryPolicy(max_attempts=3, jitter="none", initial_seconds=5)
    flowing = Flowing({"a": node(retry_policy=steady), "b": node("a")}, fail="a")

    def heal(_: Delivery, name: str) -> None:
        if flowing.started.count("a") == 2:
            flowing.fail.clear()

    flowing.on_attempt = heal
    flowing.run()
    assert flowing.started == ["a", "a", "a", "b"]
    assert flowing.record.state is State.SUCCEEDED


def test_results_reach_conditions_and_payloads() -> None:
    nodes = {
        "check": asked(payload={"day": {"$from": "/input/day"}}),
        "ask": node("check", conditions=(Condition("/nodes/check/result/risk", is_=("high",)),)),
        "book": node("check", "ask", payload={"risk": {"$from": "/nodes/check/result/risk"}, "run": {"$from": "/run"}}),
    }
    for risk, expected in (("low", ["check", "book"]), ("high", ["check", "ask", "book"])):
        flowing = Flowing(nodes)
        reporting(flowing, {"check": {"risk": risk}})
        flowing.run()
        assert flowing.started == expected
        assert flowing.record.state is State.SUCCEEDED
        bodies = [one.occurrence.payload.body for one in flowing.clockwork.targets.delivered]
        assert json.loads(bodies[0]) == {"day": "monday"}
        run = {"executionId": flowing.execution_id, "dueAt": json.loads(bodies[-1])["run"]["dueAt"], "generation": 1}
        assert json.loads(bodies[-1]) == {"risk": risk, "run": run}


def test_a_payload_that_is_left_out_is_all_that_comes_before() -> None:
    flowing = Flowing({"a": asked(), "b": node("a"), "skipped": node("a", when="failed"), "c": node("b", "skipped")})
    reporting(flowing, {"a": {"n": 1}})
    flowing.run()
    context = json.loads(flowing.clockwork.targets.delivered[-1].occurrence.payload.body)
    assert context["input"] == {"day": "monday"}
    assert context["nodes"]["a"]["result"] == {"n": 1}
    assert context["nodes"]["a"]["executionId"] == flowing.records()["a"].execution_id
    assert context["nodes"]["b"]["state"] == "SUCCEEDED"
    assert context["nodes"]["skipped"] == {"state": "SKIPPED"}
    assert set(context["nodes"]) == {"a", "b", "skipped"}


def test_a_payload_that_cannot_be_made_ends_its_node_and_its_handler_runs() -> None:
    nodes = {
        "a": asked(),
        "b": node("a", payload={"rows": {"$from": "/nodes/a/result/rows"}}),
        "c": node("b"),
        "undo": node("b", when="failed", payload={"why": {"$from": "/nodes/b/error"}}),
    }
    flowing = Flowing(nodes)
    reporting(flowing, {"a": {"n": 1}})
    flowing.run()
    assert flowing.started == ["a", "undo"]
    reason = "its payload refers to /nodes/a/result/rows, where nothing is"
    assert flowing.records()["b"].state is State.DEAD
    assert flowing.records()["b"].reason == reason
    assert json.loads(flowing.clockwork.targets.delivered[-1].occurrence.payload.body) == {"why": reason}
    assert flowing.record.state is State.DEAD


@pytest.mark.parametrize("delay_seconds", [30, 3_000])
def test_a_node_starts_so_long_after_its_parents(delay_seconds: int) -> None:
    nodes = {"a": node(), "b": node("a", delay_seconds=delay_seconds, relevancy_window_seconds=5)}
    flowing = Flowing(nodes, timeout_seconds=10_000).run(delay_seconds + 60)
    first, second = flowing.clockwork.targets.delivered
    assert flowing.started == ["a", "b"]
    begun_at = flowing.records()["b"].attempts[0].started_at
    assert 0 <= begun_at - flowing.records()["a"].attempts[0].ended_at - delay_seconds * 1000 < 1_000
    # It is not late: it was to wait.
    assert flowing.records()["b"].attempts[0].lateness_ms < 1_000
    assert first.occurrence.due_at == second.occurrence.due_at


def test_a_dead_run_is_called_back_once_and_told_of_once() -> None:
    flowing = Flowing()
    arn = "arn:aws:sqs:us-east-1:111111111111:dead"
    client = flowing.clockwork.clients.get("acme")
    assert client is not None
    flowing.clockwork.clients.put(msgspec.structs.replace(client, dead_letter_queue_arn=arn))
    flowing.fail = {"a", "b"}
    flowing.create({"a": node(), "b": node()}, on_failure=TARGET)
    flowing.run()
    assert sorted(flowing.started) == ["a", "b", "callback"]
    assert [one.execution_id for _, one in flowing.clockwork.notices.told] == [flowing.execution_id]


def writes_of(nodes: dict[str, Node], fail: str = "") -> int:
    """How many items a run writes, its job's row aside."""
    flowing = Flowing(nodes, fail=fail)
    counted = Dying(flowing.world, 0)
    flowing.clockwork.world = counted.world
    assert flowing.run().record.is_final
    return sum(not call.startswith(("releases.", "timeline.", "notices.")) for call in counted.calls)


def test_a_node_is_three_writes_and_a_run_four() -> None:
    chain = {f"n{index}": node(*([f"n{index - 1}"] if index else [])) for index in range(10)}
    assert writes_of(chain) == 4 + 3 * 10
    assert writes_of(dict(list(chain.items())[:3])) == 4 + 3 * 3
    # A cascade of nodes that do not run is one write.
    assert writes_of(chain, fail="n0") == 4 + 3 + 1
