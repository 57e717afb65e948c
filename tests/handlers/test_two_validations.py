"""Two libraries read the bodies that create jobs: what msgspec takes, pydantic takes, and both make the same of it."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clockwork.domain.clients import Client
from clockwork.domain.errors import InvalidRequest
from clockwork.domain.pools.pool import Pool
from clockwork.edge.http import late
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.faults import listed_by_pydantic
from clockwork.edge.http.forms import Form
from clockwork.edge.http.validation import validate
from clockwork.edge.requests.jobs import CreateBatchBody, CreateJobBody, DefinitionBody, JobBody
from clockwork.edge.requests.workflows import NodeBody
from clockwork.settings import Settings
from tests.handlers.faults import BUS, EVENTBRIDGE, FIELDS, FIFO, FUNCTION, HTTP, LAMBDA, NOW, QUEUE, ROLE, SNS, TOPIC
from tests.support.searches import drawn

AT = 1_700_000_000_000
QUEUES = "https://sqs.us-east-1.amazonaws.com/999999999999"
SETTINGS = Settings.for_local().with_(
    kafka_release_queue_url=f"{QUEUES}/k", release_queue_url=f"{QUEUES}/Clockwork-Release", pools=("batch=high,normal",)
)
CLIENT = Client(
    client_id="acme",
    allowed_queue_arns=(QUEUE, FIFO),
    # Whatever begins so: the pattern of a field alone decides how it ends.
    allowed_topics=("orders*",),
    allowed_target_arns=tuple(f"{arn}*" for arn in (FUNCTION, BUS, TOPIC, ROLE)),
    allowed_pools=("batch",),
    min_interval_seconds=2,
)
POOL = Pool(name="batch", handlers=("close_month",))
TARGETS: list[Any] = [
    {**HTTP, "method": "PUT", "headers": {"x-shop": "7"}, "timeoutSeconds": 5},
    {"type": "sqs", "queueArn": QUEUE},
    {"type": "sqs", "queueArn": FIFO, "messageGroupId": "g", "roleArn": ROLE},
    {**LAMBDA, "roleArn": ROLE},
    EVENTBRIDGE,
    {**SNS, "topicArn": f"{TOPIC}.fifo", "messageGroupId": "g"},
    {"type": "kafka", "topic": "orders", "key": "k"},
    {"type": "pool", "pool": "batch", "handler": "close_month", "priority": "high", "timeoutSeconds": 9},
]
NODES = {
    "a": {"target": TARGETS[1], "payload": None},
    "b": {
        "target": HTTP,
        "after": ["a"],
        "when": "ended",
        "if": [{"at": "/nodes/a/result", "is": [1, "x", None]}, {"at": "/input", "isNot": [True]}],
        "payload": {"x": {"$from": "/input"}},
        "optional": True,
        "delaySeconds": 1.5,
        "retryPolicy": {"maxAttempts": 3},
        "completion": {"mode": "callback"},
        "relevancyWindowSeconds": 5,
    },
}
TARGETS.append({"type": "workflow", "nodes": NODES, "timeoutSeconds": 60})
RECURRING: list[Any] = [
    {"every": {"seconds": 3_600}, "anchorAt": f"{NOW}Z", "jitterSeconds": 5, "catchUp": "all", "overlap": "skip"},
    {"cron": "0 3 * * *", "timezone": "Europe/Berlin", "dstGap": "skip", "exclude": ["2024-01-01"], "maxFires": 9},
]
ONCE: list[Any] = [{"delaySeconds": 1.5}, {"at": f"{NOW}Z"}]
VALID: list[dict[str, Any]] = [
    *({"schedule": ONCE[0], "target": target, "payload": {"a": [1, None, "x"]}} for target in TARGETS),
    *({"schedule": schedule, "target": HTTP, "jobKey": "k"} for schedule in RECURRING),
    {
        "schedule": ONCE[1],
        "target": HTTP,
        "payload": "text",
        "record": "full",
        "tags": {"team": "a"},
        "orderingKey": "o",
        "sequence": 3,
        "clientId": "acme",
        "onFailure": TARGETS[1],
        "retryPolicy": {"maxAttempts": 3, "backoff": "fixed", "maxAgeSeconds": 60, "retryStatusCodes": [409]},
    },
    {
        "schedule": ONCE[0],
        "target": HTTP,
        "relevancyWindowSeconds": 5,
        "onFailure": HTTP,
        "completion": {"mode": "callback", "heartbeatSeconds": 20, "timeoutSeconds": 60.5},
    },
]
#: Values at the edges of bounds, of types and of languages: Python's $ lets a line feed follow, Rust's does not.
ODD: list[Any] = [
    *(None, True, False, 0, 1, -1, 1.0, 1.5, -0.0, 0.0005, 5e-324, 1e308, 2**53, 2**53 + 1, 2**63, 10**30, 10**400),
    *(30, 31, 100, 400, 410, 599, 600, 1_000, 3_600, 86_400, 86_401, 604_800, 31_536_000, 1_209_600),
    *("", "\n", "acme", "acme\n", "ACME", "\u0662", "é" * 128, "x" * 65, "x" * 257, "a\x00b", "\U0001f600", "none"),
    *(
        f"{QUEUE}\n",
        QUEUE,
        FIFO,
        FUNCTION,
        f"{FUNCTION}\n",
        f"{ROLE}\n",
        f"{BUS}\n",
        f"{TOPIC}\n",
        "orders",
        "orders\n",
    ),
    *(f"{NOW}Z", f"{NOW}Z\n", NOW, "2300-01-01T00:00:00Z", "1969-01-01T00:00:00Z", "UTC", "Europe/Berlin", "no zone"),
    *("0 3 * * *", "* * * * * *", "0 0 30 2 *", "full", "skip", "GET", "get", "http", "sqs", "pool", "callback"),
    *([], [[]], [410], [409, 409], [1.0], ["2024-01-01"], ["bad"], {}, {"": ""}, {"a": 1}, {"a": "b"}, {"x" * 65: ""}),
    *({"type": "http"}, {"seconds": 1}, {"seconds": 2}, {"mode": "callback"}, {"maxAgeSeconds": 86_400}, "x" * 262_144),
    *TARGETS,
    *ONCE,
    *RECURRING,
]
NAMES = sorted(
    {name for body in VALID for name in body}
    | {name for body in VALID for part in body.values() if isinstance(part, dict) for name in part}
    | {"startAt", "endAt", "catchUpWindowSeconds", "dayMatch", "dstOverlap", "color", "job_key", "initialSeconds"}
)
quick = settings(max_examples=drawn(600), deadline=None, suppress_health_check=[HealthCheck.too_slow])


def checks_now() -> Checks:
    """The context of one validation, by the client and the pool of these tests."""
    return Checks(AT, SETTINGS, CLIENT, pool_named={"batch": POOL}.get)


def by_msgspec(kind: type[Form], value: Any) -> Form | None:
    """The form that msgspec makes of a value, if it takes it."""
    checks = checks_now()
    try:
        form = kind.taken(copy.deepcopy(value), checks)
    except ValueError:
        return None
    return None if checks.problems else form


def agree(kind: type[Form], value: Any) -> bool:
    """Whether both take the value. Asserts that they agree, and that both make the same of it."""
    ours = by_msgspec(kind, value)
    theirs, problems = listed_by_pydantic(kind, copy.deepcopy(value), checks_now())
    assert (ours is None) == bool(problems), (ours, problems)
    if ours is None:
        return False
    # The text tells 5 from 5.0, which are equal.
    assert repr(ours) == repr(theirs)
    assert ours == theirs
    return True


@st.composite
def nearly_valid(draw: st.DrawFn) -> Any:
    """A valid body, with some of its parts replaced, left out or added."""
    body = copy.deepcopy(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(0, 3))):
        here: dict[str, Any] = body
        while inner := [name for name, part in here.items() if isinstance(part, dict)]:
            if draw(st.booleans()):
                break
            here = here[draw(st.sampled_from(inner))]
        name = draw(st.sampled_from(sorted(here) or NAMES) | st.sampled_from(NAMES))
        if draw(st.integers(0, 4)):
            here[name] = copy.deepcopy(draw(st.sampled_from(ODD) | st.integers() | st.text(max_size=3)))
        else:
            here.pop(name, None)
    return body


@pytest.mark.parametrize("body", VALID, ids=json.dumps)
def test_both_take_what_is_valid_and_make_the_same_of_it(body: dict[str, Any]) -> None:
    assert agree(CreateJobBody, body)


@pytest.mark.long
@quick
@given(body=nearly_valid())
def test_both_take_the_same_of_nearly_valid_bodies(body: Any) -> None:
    agree(CreateJobBody, body)


@pytest.mark.long
@quick
@given(body=nearly_valid() | st.sampled_from(ODD), kind=st.sampled_from([DefinitionBody, JobBody, CreateBatchBody]))
def test_both_take_the_same_of_other_forms(body: Any, kind: type[Form]) -> None:
    agree(kind, body)


@pytest.mark.parametrize("jobs", [None, {}, [], [1], [None] * 500, [None] * 501, "x"], ids=lambda jobs: str(jobs)[:20])
def test_both_take_the_same_batches(jobs: Any) -> None:
    assert agree(CreateBatchBody, {"jobs": jobs}) == (isinstance(jobs, list) and 0 < len(jobs) <= 500)


@pytest.mark.parametrize("fault", [one for one in FIELDS if isinstance(one.body, dict)], ids=lambda one: one.id)
def test_both_refuse_what_is_known_to_be_faulty(fault: Any) -> None:
    body = {"schedule": {"delaySeconds": 60}, "target": HTTP, **fault.body}
    checks = Checks(AT, Settings.for_local(), Client(client_id="acme"))
    try:
        CreateJobBody.taken(copy.deepcopy(body), checks)
    except ValueError:
        return
    assert checks.problems, "msgspec takes what the API refuses"


@pytest.mark.parametrize("place", ["schedule", "target", "retryPolicy", "completion", "onFailure"])
@pytest.mark.parametrize("value", ODD, ids=lambda value: str(value)[:30])
def test_both_take_the_same_in_each_place(place: str, value: Any) -> None:
    agree(CreateJobBody, {**VALID[-1], place: value})


@pytest.mark.parametrize("body", VALID, ids=json.dumps)
def test_both_take_the_same_with_any_odd_value_in_any_place(body: dict[str, Any]) -> None:
    taken = 0
    for value in ODD:
        for name in body:
            taken += agree(CreateJobBody, {**body, name: value})
        for part in ("schedule", "target", "retryPolicy", "completion", "tags"):
            inner = body.get(part, {})
            for name in inner:
                taken += agree(CreateJobBody, {**body, part: {**inner, name: value}})
    assert taken > 20


def test_both_take_the_same_nodes_with_any_odd_value_in_any_place() -> None:
    whole, taken = NODES["b"], 0
    for value in ODD:
        for name in [*whole, "color"]:
            taken += agree(NodeBody, {**whole, name: value})
        for name in ("at", "is", "isNot"):
            taken += agree(NodeBody, {**whole, "if": [{"at": "/input", "is": [1], name: value}]})
        for name in ("is", "isNot"):
            taken += agree(NodeBody, {**whole, "if": [{"at": "/input", name: [value]}]})
    assert taken > 200


def test_what_only_one_of_them_refuses_is_refused_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It never happens, as far as the tests above can tell: so a pydantic that finds no fault stands for it."""
    monkeypatch.setattr(late, "faults_of", lambda *_: (None, []))
    with pytest.raises(InvalidRequest) as refused:
        validate(CreateJobBody, {**VALID[0], "color": "red"}, checks_now())
    assert [(one.pointer, one.detail) for one in refused.value.problems] == [("", "has a fault that cannot be named")]
    assert [(one.action, one.form) for one in caplog.records] == [("api_validations_differ", "CreateJobBody")]  # type: ignore[attr-defined]


def test_a_schedule_is_charged_as_often_as_it_is_gone_through() -> None:
    excluding = {"cron": "* * * * * *", "exclude": ["* 0-22 * * *"]}
    body = {"schedule": excluding, "target": HTTP, "jobKey": "k"}
    client = Client(client_id="acme")

    def cost(value: Any) -> int:
        checks = Checks(AT, SETTINGS, client)
        before = checks.work.left
        with contextlib.suppress(InvalidRequest):
            validate(CreateJobBody, value, checks)
        return before - checks.work.left

    taken, refused = cost(body), cost({**body, "color": "red"})
    assert taken > 0
    assert refused == taken
    late_fault = cost({**body, "record": "none"})
    assert late_fault == 2 * taken
