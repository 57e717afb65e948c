"""Runs of workflows over the API: their nodes, their numbers, their cancel and their redrive; who may see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from clockwork.domain.executions import Outcome, State
from clockwork.domain.ids import decode_node, is_node, run_of
from clockwork.domain.releases import Delivery
from tests.handlers.faults import HTTP, refused
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ADMIN, ALICE, BOB

ONCE = {"maxAttempts": 1}


def hook(*after: str, **more: Any) -> dict[str, Any]:
    """A webhook that is tried once, after these nodes."""
    return {"target": HTTP, "after": list(after), "retryPolicy": ONCE, **more}


ORDER = {
    "reserve": hook(),
    "pay": hook("reserve"),
    "ship": hook("pay"),
    "undo": hook("pay", when="failed"),
    "gift": hook("reserve", **{"if": [{"at": "/input/gift", "is": [True]}]}),
}


class Runs:
    """An API with one run of a workflow. `fail` has the nodes whose attempts fail, `hang` those that are never told."""

    def __init__(self, nodes: Mapping[str, Any], fail: str = "", **more: Any) -> None:
        self.api = Api()
        self.names, self.fail = list(nodes), set(fail.split())
        self.api.clockwork.targets._answer = self._answer
        target = {"type": "workflow", "nodes": dict(nodes), **more}
        created = self.api.create(jobKey="order", schedule={"delaySeconds": 1}, target=target, payload={"gift": False})
        assert created.status == 201, created.text
        self.job_id = created.body["jobId"]
        self.run()
        (listed,) = self.api.call("GET", f"/v1/jobs/{self.job_id}/executions").body["items"]
        self.execution_id = listed["executionId"]

    def _answer(self, delivery: Delivery) -> Outcome:
        now = self.api.clockwork.clock.now()
        name = self.names[decode_node(delivery.job_id).index] if is_node(delivery.job_id) else ""
        if name in self.fail:
            return Outcome(State.FAILED, now, now, status_code=500, error="HTTP 500")
        return Outcome(State.SUCCEEDED, now, now, status_code=200, answer=b'{"n":1}')

    def run(self, seconds: int = 30) -> None:
        """Let time pass."""
        self.api.clockwork.run_until(self.api.clockwork.clock.at + seconds * 1000)

    def get(self, rest: str = "", caller: str = ALICE) -> Answer:
        return self.api.call("GET", f"/v1/executions/{self.execution_id}{rest}", caller=caller)

    def post(self, rest: str, body: Any = None) -> Answer:
        return self.api.call("POST", f"/v1/executions/{self.execution_id}{rest}", body)

    def nodes(self) -> dict[str, Any]:
        """The nodes by their names."""
        return {one["name"]: one for one in self.get("/nodes").body["items"]}

    def states(self) -> dict[str, str]:
        return {name: one["state"] for name, one in self.nodes().items()}


def test_a_run_that_succeeded_shows_its_nodes_with_their_executions() -> None:
    runs = Runs(ORDER)
    nodes = runs.nodes()
    assert {name: one["state"] for name, one in nodes.items()} == {
        "reserve": "SUCCEEDED",
        "pay": "SUCCEEDED",
        "ship": "SUCCEEDED",
        "undo": "SKIPPED",
        "gift": "SKIPPED",
    }
    assert (nodes["ship"]["after"], nodes["undo"]["when"]) == (["pay"], "failed")
    pay = nodes["pay"]
    assert (pay["attempt"], pay["hasResult"], pay["generation"]) == (1, True, 1)
    assert pay["startedAt"] <= pay["endedAt"] <= nodes["ship"]["startedAt"]
    assert "executionId" not in nodes["undo"]
    assert "because" not in nodes["gift"], "its own condition kept it from running"
    read = runs.api.call("GET", f"/v1/executions/{pay['executionId']}").body
    assert read["node"] == {"name": "pay", "run": runs.execution_id, "generation": 1}
    assert read["report"]["result"] == {"n": 1}
    counts = {"generation": 1, "nodes": 5, "succeeded": 3, "failed": 0, "skipped": 2, "open": 0}
    assert (runs.get().body["state"], runs.get().body["run"]) == ("SUCCEEDED", counts)


def test_a_run_that_failed_tells_because_of_which_parent_a_node_was_not_reached() -> None:
    runs = Runs(ORDER, fail="pay")
    nodes = runs.nodes()
    states = {name: one["state"] for name, one in nodes.items()}
    assert states == {
        "reserve": "SUCCEEDED",
        "pay": "DEAD",
        "ship": "UNREACHED",
        "undo": "SUCCEEDED",
        "gift": "SKIPPED",
    }
    assert (nodes["ship"]["because"], nodes["pay"]["lastError"]) == ("pay", "HTTP 500")
    answer = runs.get().body
    assert answer["state"] == "DEAD"
    assert answer["run"] == {"generation": 1, "nodes": 5, "succeeded": 2, "failed": 2, "skipped": 1, "open": 0}


def test_a_node_that_waits_for_its_parents_is_told_from_one_that_is_released() -> None:
    asked = hook(completion={"mode": "callback"})
    runs = Runs({"ask": asked, "book": hook("ask"), "later": hook(delaySeconds=3_600)})
    assert runs.states() == {"ask": "RUNNING", "book": "WAITING", "later": "RELEASED"}
    answer = runs.get().body
    assert (answer["state"], answer["run"]["open"]) == ("RUNNING", 3)
    assert "atWork" not in answer, "no receiver has a run"
    # A node that runs has its place in its record.
    ask = runs.nodes()["ask"]["executionId"]
    assert runs.api.call("GET", f"/v1/executions/{ask}").body["node"]["name"] == "ask"


def test_a_cancel_lists_the_run_and_its_nodes_that_still_run() -> None:
    asked = hook(completion={"mode": "callback"})
    runs = Runs({"a": asked, "b": asked, "c": hook(delaySeconds=3_600), "d": hook("a")})
    cancelled = runs.post("/cancel").body
    assert cancelled["result"] == "running"
    listed = [one["executionId"] for one in cancelled["executions"]]
    running = [runs.nodes()[name]["executionId"] for name in "ab"]
    assert (listed[0], sorted(listed[1:])) == (runs.execution_id, sorted(running))
    assert runs.get().body["run"]["stopped"] == "cancel"
    runs.run(120)
    assert (runs.get().body["state"], runs.states()["c"]) == ("CANCELLED", "CANCELLED")
    again = runs.post("/cancel").body
    assert (again["result"], again["executions"]) == ("cancelled", [])


def test_a_cancel_of_what_is_no_run_lists_nothing() -> None:
    runs = Runs({"a": hook()})
    assert "executions" not in runs.api.call("POST", f"/v1/executions/{runs.nodes()['a']['executionId']}/cancel").body


def test_a_redrive_starts_what_failed_and_the_nodes_that_it_names() -> None:
    runs = Runs(ORDER, fail="pay")
    runs.fail.clear()
    waiting = runs.post("/redrive", {"from": ["reserve"]})
    assert (waiting.status, waiting.body["state"]) == (200, "PENDING")
    runs.run()
    nodes = runs.nodes()
    assert runs.get().body["run"]["generation"] == 2
    assert {name: (one["state"], one["generation"]) for name, one in nodes.items()} == {
        "reserve": ("SUCCEEDED", 2),
        "pay": ("SUCCEEDED", 2),
        "ship": ("SUCCEEDED", 2),
        "undo": ("SKIPPED", 2),
        "gift": ("SKIPPED", 2),
    }
    noted = runs.api.call("GET", "/v1/audit", query={"jobId": runs.job_id}).body["items"][0]
    assert (noted["action"], noted["asked"]) == ("redriveExecution", {"from": '["reserve"]'})


def test_what_succeeded_keeps_its_generation_in_a_redrive() -> None:
    runs = Runs(ORDER, fail="pay")
    runs.fail.clear()
    assert runs.post("/redrive").status == 200
    runs.run()
    assert {name: one["generation"] for name, one in runs.nodes().items()} == {
        "reserve": 1,
        "pay": 2,
        "ship": 2,
        "undo": 2,
        "gift": 1,
    }


def test_a_redrive_is_refused_while_the_run_is_at_work_and_for_names_that_it_does_not_have() -> None:
    runs = Runs({"a": hook(completion={"mode": "callback"})})
    running = runs.post("/redrive")
    refused(running, 409)
    assert running.details == ["it is RUNNING: a run is redriven once it has ended"]
    dead = Runs(ORDER, fail="pay")
    unknown = dead.post("/redrive", {"from": ["pay", "send"]})
    refused(unknown, 422)
    assert (unknown.pointers, unknown.details) == (["/from/1"], ['names no node: "send"'])
    refused(dead.post("/redrive", {"from": ["x" * 41]}), 422)
    refused(dead.post("/redrive", {"from": ["pay"] * 101}), 422)
    node = dead.nodes()["pay"]["executionId"]
    alone = dead.api.call("POST", f"/v1/executions/{node}/redrive")
    refused(alone, 409)
    assert alone.details == ["it is a node of a run: redrive the run"]


def test_the_dead_are_runs_and_a_redrive_by_filter_takes_them() -> None:
    runs = Runs(ORDER, fail="pay")
    listed = runs.api.call("GET", "/v1/clients/acme/dead").body["items"]
    assert [one["executionId"] for one in listed] == [runs.execution_id]
    runs.fail.clear()
    answer = runs.api.call("POST", "/v1/clients/acme/dead/redrive", {"prefix": "order"})
    assert answer.body == {"matched": 1, "changed": 1}
    runs.run()
    assert runs.get().body["state"] == "SUCCEEDED"


def test_a_redrive_of_a_run_counts_its_nodes_in_the_jobs_of_a_day() -> None:
    runs = Runs(ORDER, fail="pay")
    body = {"principals": [ALICE], "jobsPerDay": 5}
    assert runs.api.call("PUT", "/v1/clients/acme", body, caller=ADMIN).status == 200
    refused(runs.post("/redrive"), 429)
    refused(runs.api.call("POST", "/v1/clients/acme/dead/redrive", {}), 429)


def test_a_discarded_run_keeps_the_names_of_its_nodes() -> None:
    runs = Runs(ORDER, fail="pay")
    assert runs.api.call("POST", "/v1/clients/acme/dead/discard", {}).body["changed"] == 1
    assert runs.states()["pay"] == "DEAD"
    refused(runs.post("/redrive"), 409)


def test_a_list_of_executions_of_the_job_has_its_runs_alone() -> None:
    runs = Runs(ORDER)
    items = runs.api.call("GET", f"/v1/jobs/{runs.job_id}/executions").body["items"]
    assert [one["executionId"] for one in items] == [runs.execution_id]
    node = runs.nodes()["pay"]["executionId"]
    job_id = node.partition(".")[0]
    for rest in ("", "/executions", "/fires"):
        refused(runs.api.call("GET", f"/v1/jobs/{job_id}{rest}"), 404)
    for method in ("PUT", "PATCH", "DELETE"):
        assert runs.api.call(method, f"/v1/jobs/{job_id}", {} if method != "DELETE" else None).status == 404


@pytest.mark.parametrize("rest", ["", "/nodes"])
def test_nobody_else_sees_a_run_or_its_nodes(rest: str) -> None:
    runs = Runs(ORDER)
    node = runs.nodes()["pay"]["executionId"]
    refused(runs.get(rest, caller=BOB), 404)
    refused(runs.get(rest, caller="arn:aws:iam::1:role/Stranger"), 403)
    refused(runs.api.call("GET", f"/v1/executions/{node}{rest}", caller=BOB), 404)
    assert runs.get(rest, caller=ADMIN).status == 200


def test_an_execution_that_is_no_run_has_no_nodes() -> None:
    runs = Runs({"a": hook()})
    node = runs.nodes()["a"]["executionId"]
    assert runs.api.call("GET", f"/v1/executions/{node}/nodes").body == {"generation": 1, "items": []}
    refused(runs.api.call("GET", "/v1/executions/x/nodes"), 404)


def test_a_run_whose_progress_is_gone_is_shown_without_it() -> None:
    runs = Runs(ORDER)
    pay = runs.nodes()["pay"]["executionId"]
    del runs.api.clockwork.runs.stored[run_of(runs.execution_id)]
    assert "run" not in runs.get().body
    assert runs.get("/nodes").body == {"generation": 1, "items": []}
    assert "node" not in runs.api.call("GET", f"/v1/executions/{pay}").body
