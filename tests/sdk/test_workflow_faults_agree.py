"""The check of a workflow without the API says what the API says, word for word."""

from __future__ import annotations

import re
from typing import Any

import pytest

from clockwork_client import Clockwork, Invalid, http, lambda_function, pool
from clockwork_client.testing import VirtualClockwork
from clockwork_client.workflows.answers import WorkflowTarget
from clockwork_client.workflows.check import check

HOOK = http("https://example.com/hook").raw
FUNCTION = lambda_function("arn:aws:lambda:us-east-1:123456789012:function:f", envelope=False).raw


def nodes(*others: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A workflow of a sound node `a` and of `b` with these fields."""
    named = {f"c{place}": other for place, other in enumerate(others)}
    return {"type": "workflow", "nodes": {"a": {"target": HOOK}, "b": {"target": HOOK, **fields}, **named}}


WRONG: dict[str, dict[str, Any]] = {
    "no nodes": {"type": "workflow", "nodes": {}},
    "nodes missing": {"type": "workflow"},
    "nodes are a list": {"type": "workflow", "nodes": []},
    "a node is a text": {"type": "workflow", "nodes": {"a": "b"}},
    "101 nodes": {"type": "workflow", "nodes": {f"n{place}": {"target": HOOK} for place in range(101)}},
    "names": {"type": "workflow", "nodes": {"A": {"target": HOOK}, "a/b": {"target": HOOK}, "": {"target": HOOK}}},
    "an unknown field": nodes(afterr=["a"]),
    "an unknown field of the whole": {**nodes(), "fast": True},
    "the timeout": {**nodes(), "timeoutSeconds": 0},
    "the timeout is a text": {**nodes(), "timeoutSeconds": "1d"},
    "the timeout is null": {**nodes(), "timeoutSeconds": None},
    "no target": {"type": "workflow", "nodes": {"a": {}}},
    "a target without type": nodes(target={"url": "https://example.com"}),
    "a target of another type": nodes(target={"type": "ftp"}),
    "a workflow in a workflow": nodes(target={"type": "workflow", "nodes": {}}),
    "a target that lacks a field": nodes(target={"type": "sqs"}),
    "after is a text": nodes(after="a"),
    "after has a number": nodes(after=[1]),
    "after has no name": nodes(after=["A b"]),
    "after is null": nodes(after=None),
    "after names none": nodes(after=["x"]),
    "after names itself": nodes(after=["b"]),
    "after names one twice": nodes(after=["a", "a"]),
    "a circle": nodes({"target": HOOK, "after": ["b"]}, after=["c0"]),
    "when": nodes(when="always", after=["a"]),
    "when of a root": nodes(when="failed"),
    "six conditions": nodes(**{"if": [{"at": "/input", "is": [1]}] * 6}),
    "a condition without values": nodes(**{"if": [{"at": "/input"}]}),
    "a condition with both": nodes(**{"if": [{"at": "/input", "is": [1], "isNot": [2]}]}),
    "a condition without place": nodes(**{"if": [{"is": [1]}]}),
    "a condition with no values": nodes(**{"if": [{"at": "/input", "is": []}]}),
    "a condition with a list": nodes(**{"if": [{"at": "/input", "is": [[1]]}]}),
    "a condition with a huge number": nodes(**{"if": [{"at": "/input", "is": [2**70]}]}),
    "the end of a webhook": nodes(completion={"mode": "end"}),
    "the end of a pool": nodes(target=pool("etl", "x").raw, completion={"mode": "end"}),
    "a callback without an envelope": nodes(target=FUNCTION, completion={"mode": "callback"}),
    "an end with heartbeats": nodes(completion={"mode": "end", "heartbeatSeconds": 90, "timeoutSeconds": 60}),
    "a condition of no pointer": nodes(**{"if": [{"at": "input", "is": [1]}]}),
    "a condition of what comes after": nodes({"target": HOOK, "after": ["b"]},
                                             **{"if": [{"at": "/nodes/c0/state", "is": [1]}]}),
    "a payload of what does not come before": nodes(payload={"x": [{"$from": "/nodes/a/result"}]}),
    "a payload of no node": nodes(payload={"$from": "/nodes/zz/result"}),
    "a payload with more beside $from": nodes(payload={"$from": "/input", "x": 1}),
    "a payload of a number": nodes(payload={"$from": 7}),
    "optional is a number": nodes(optional=1),
    "a delay": nodes(delaySeconds=2_592_001),
    "a delay is true": nodes(delaySeconds=True),
    "a window": nodes(relevancyWindowSeconds=0),
    "a retry policy": nodes(retryPolicy={"maxAttempts": 0, "backoff": "slow", "retryStatusCodes": [200], "x": 1}),
    "a retry policy of a final status": nodes(retryPolicy={"retryStatusCodes": [410]}),
    "a completion": nodes(completion={"mode": "poll", "timeoutSeconds": 1}),
    "a completion that is missed after its end": nodes(completion={"mode": "callback", "timeoutSeconds": 60}),
    "a completion of a pool": nodes(target=pool("etl", "x").raw, completion={"mode": "callback"}),
    "faults of two nodes and of the graph": nodes({"target": HOOK, "after": ["zz"]}, delaySeconds=-1, when="failed"),
    "too many bytes": nodes(payload="x" * 70_000),
}  # fmt: skip


@pytest.fixture(scope="module")
def cw() -> Clockwork:
    virtual = VirtualClockwork(pools=["etl"])
    virtual.admin.pools.put("etl", principals=["arn:aws:iam::111111111111:role/worker"], handlers=["x"])
    return virtual.client("acme", allowed_pools=["etl"], allowed_target_arns=["arn:aws:lambda:us-east-1:*"])


def faults(call: Any) -> list[tuple[str, str]]:
    with pytest.raises(Invalid) as refused:
        call()
    # The API adds an example, or the field that may be meant.
    return [(one.pointer, re.split(", for example |: did you mean ", one.detail)[0]) for one in refused.value.faults]


@pytest.mark.parametrize("name", WRONG)
def test_a_fault_has_the_place_and_the_words_that_the_api_gives_it(name: str, cw: Clockwork) -> None:
    target = WRONG[name]
    body = {"schedule": {"delaySeconds": 60}, "target": target}
    assert faults(lambda: check(target)) == faults(lambda: cw.create(body))


def test_what_the_api_takes_has_no_fault(cw: Clockwork) -> None:
    every = nodes(
        {"target": HOOK},
        after=["a"],
        when="ended",
        optional=True,
        payload={"a": [{"$from": "/nodes/a/result/x~1y/0"}, {"$from": "/input"}], "b": None},
        delaySeconds=0.5,
        relevancyWindowSeconds=None,
        retryPolicy={"maxAttempts": 1},
        completion={"mode": "callback", "heartbeatSeconds": 60, "timeoutSeconds": 60},
        **{"if": [{"at": "/run/dueAt", "is": [None, True, 1, 1.5, "x"]}, {"at": "/nodes/a/state", "isNot": ["DEAD"]}]},
    )
    check(every)
    made = cw.create({"schedule": {"delaySeconds": 60}, "target": every})
    shown = cw.jobs.get(made.job_id).target
    assert isinstance(shown, WorkflowTarget)
    assert list(shown.nodes) == ["a", "b", "c0"]
