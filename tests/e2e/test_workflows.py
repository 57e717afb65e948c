"""Workflows on the deployed stack: a wide fan-in, an approval, a lost worker, a cancel, and a redrive."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from local.receiver import Post
from tests.e2e.deployment import Deployment
from tests.e2e.hooks import Hook, Hooks
from tests.e2e.tenant import Tenant
from tests.e2e.test_unsigned_completions import unsigned
from tests.e2e.waiting import await_value

CALLBACK = {"mode": "callback", "heartbeatSeconds": 60, "timeoutSeconds": 600}
ONCE = {"maxAttempts": 1}


def node(hook: Hook, *after: str, **more: Any) -> dict[str, Any]:
    return {"target": {"type": "http", "url": hook.url}, "after": list(after), "retryPolicy": ONCE, **more}


class Run:
    """The run of a workflow that a client creates, due in two seconds."""

    def __init__(self, tenant: Tenant, nodes: dict[str, Any]) -> None:
        self.tenant = tenant
        created = tenant.create(target={"type": "workflow", "nodes": nodes}, payload={"order": 17})
        self.job_id = created["jobId"]
        at = f"/v1/jobs/{self.job_id}/executions"
        (listed,) = await_value(lambda: tenant.get(at)["items"] or None, "the run has begun")
        self.path = f"/v1/executions/{listed['executionId']}"

    def nodes(self) -> dict[str, Any]:
        """The nodes by their names."""
        return {one["name"]: one for one in self.tenant.get(f"{self.path}/nodes")["items"]}

    def states(self) -> dict[str, str]:
        return {name: one["state"] for name, one in self.nodes().items()}

    def await_end(self, state: str) -> dict[str, Any]:
        return self.tenant.await_job(self.job_id, state)

    def post(self, rest: str, body: Any = None) -> dict[str, Any]:
        answer = self.tenant.api.request("POST", f"{self.path}{rest}", body or {})
        assert answer.status == 200, answer
        return dict(answer.body)


def names_in(arrivals: list[Post]) -> list[str]:
    return [one.headers["clockwork-node"] for one in arrivals]


def test_the_sink_of_99_nodes_that_end_within_a_second_starts_once(acme: Tenant, webhooks: Hooks) -> None:
    wide, sink = webhooks.hook(), webhooks.hook()
    names = [f"n{number}" for number in range(99)]
    # The first of them has not ended before the last one starts: they end together.
    wide.seconds = 1
    run = Run(acme, {**{name: node(wide) for name in names}, "sink": node(sink, *names, payload={"all": True})})
    ended = run.await_end("SUCCEEDED")
    assert sorted(names_in(wide.arrivals)) == sorted(names)
    assert names_in(sink.arrivals) == ["sink"]
    assert sink.arrivals[0].headers["clockwork-run"] == ended["lastExecution"]["executionId"]
    assert json.loads(sink.arrivals[0].body) == {"all": True}
    assert acme.get(run.path)["run"]["succeeded"] == 100


def test_an_approval_by_an_unsigned_callback_decides_what_runs(
    deployment: Deployment, acme: Tenant, webhooks: Hooks
) -> None:
    ask, book, refuse = webhooks.hook(), webhooks.hook(), webhooks.hook()
    at = "/nodes/ask/result/word"
    run = Run(
        acme,
        {
            "ask": node(ask, completion=CALLBACK),
            "book": node(
                book, "ask", **{"if": [{"at": at, "is": ["yes"]}]}, payload={"by": {"$from": "/nodes/ask/result/by"}}
            ),
            "refuse": node(refuse, "ask", **{"if": [{"at": at, "isNot": ["yes"]}]}),
        },
    )
    (asked,) = ask.await_arrivals(1)
    assert run.states() == {"ask": "RUNNING", "book": "WAITING", "refuse": "WAITING"}
    told = {"outcome": "complete", "result": {"word": "yes", "by": "ana"}}
    assert unsigned(deployment, "POST", f"/v1/completions/{asked.headers['clockwork-token']}", told)[0] == 200
    run.await_end("SUCCEEDED")
    assert [json.loads(one.body) for one in book.arrivals] == [{"by": "ana"}]
    assert (refuse.arrivals, run.states()["refuse"]) == ([], "SKIPPED")


@pytest.mark.nightly
def test_a_node_whose_receiver_was_lost_is_done_by_the_next_one_and_what_follows_starts_once(
    deployment: Deployment, acme: Tenant, webhooks: Hooks
) -> None:
    work, after = webhooks.hook(), webhooks.hook()
    short = {"mode": "callback", "heartbeatSeconds": 10, "timeoutSeconds": 600}
    again = {"maxAttempts": 2, "backoff": "none", "jitter": "none"}
    run = Run(acme, {"work": node(work, completion=short, retryPolicy=again), "after": node(after, "work")})
    first, second = work.await_arrivals(2)  # nobody reports on the first
    path = "/v1/completions/{}"
    assert (
        unsigned(deployment, "POST", path.format(second.headers["clockwork-token"]), {"outcome": "complete"})[0] == 200
    )
    run.await_end("SUCCEEDED")
    late = unsigned(deployment, "POST", path.format(first.headers["clockwork-token"]), {"outcome": "complete"})
    assert late[0] == 404
    nodes = run.nodes()
    assert (nodes["work"]["attempt"], len(after.arrivals)) == (2, 1)


def test_a_cancel_while_three_nodes_run_lists_them_and_none_starts_after_it(
    deployment: Deployment, acme: Tenant, webhooks: Hooks
) -> None:
    work, after = webhooks.hook(), webhooks.hook()
    three = {name: node(work, completion=CALLBACK) for name in ("a", "b", "c")}
    run = Run(acme, {**three, "later": node(after, delaySeconds=8), "next": node(after, "a")})
    arrivals = work.await_arrivals(3)
    cancelled = run.post("/cancel")
    running = {one["executionId"] for one in cancelled["executions"]} - {cancelled["executionId"]}
    assert (cancelled["result"], running) == ("running", {one.headers["webhook-id"] for one in arrivals})
    for arrival in arrivals:
        told = {"outcome": "complete" if arrival.headers["clockwork-node"] == "a" else "cancelled"}
        assert unsigned(deployment, "POST", f"/v1/completions/{arrival.headers['clockwork-token']}", told)[0] == 200
    run.await_end("CANCELLED")
    assert Counter(run.states().values()) == {"SUCCEEDED": 1, "CANCELLED": 4}
    assert (len(work.arrivals), after.arrivals) == (3, [])


def test_a_redrive_from_the_middle_keeps_what_succeeded_before_it(acme: Tenant, webhooks: Hooks) -> None:
    first, middle, last = webhooks.hook(), webhooks.hook(), webhooks.hook(failures=1)
    run = Run(acme, {"first": node(first), "middle": node(middle, "first"), "last": node(last, "middle")})
    run.await_end("DEAD")
    last.failures = 0  # each generation is another execution of the node, which the hook has not met
    run.post("/redrive", {"from": ["middle"]})
    run.await_end("SUCCEEDED")
    assert [len(hook.arrivals) for hook in (first, middle, last)] == [1, 2, 2]
    assert {name: one["generation"] for name, one in run.nodes().items()} == {"first": 1, "middle": 2, "last": 2}
