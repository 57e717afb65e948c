"""The client against docs/openapi.json, field by field and both ways.

Every operation is called with everything that the client can give. Its requests must have everything that the API
describes, and nothing else. Every field of every answer has its attribute with the right type, and no attribute is
without a field. A field that is new in the description fails here, and the message names it.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from types import GenericAlias, NoneType
from typing import Any, get_args, get_type_hints
from urllib.parse import parse_qsl, urlsplit

import pytest

from clockwork_client import (
    Clockwork,
    Workflow,
    attention,
    clients,
    errors,
    handled,
    operations,
    overview,
    pools,
    reports,
    requests,
    resources,
    results,
    targets,
    waiting,
)
from clockwork_client.answers import Answer, Target, camel, fields_of, target_of
from clockwork_client.transport import Request, Response
from clockwork_client.workflows import answers
from clockwork_client.workflows.runs import Runs
from infra import ROOT
from tests.sdk.edge import client_of

DESCRIPTION = json.loads((ROOT / "docs/openapi.json").read_text(encoding="utf-8"))
SCHEMAS: dict[str, Any] = DESCRIPTION["components"]["schemas"]
OPERATIONS = {
    operation["operationId"]: (method.upper(), path, operation)
    for path, methods in DESCRIPTION["paths"].items()
    for method, operation in methods.items()
}
#: For callers of the original Clockwork, and older paths of operations that the client has.
LEFT_OUT = {"postSchedule", "deleteSchedule"}
#: Calls of workers: `clockwork_client.worker` makes them, which keeps a protocol, and no caller by hand.
LEFT_OUT |= {"claimTickets", "beatAttempts", "reportOutcomes", "keepCheckpoint"}
#: For receivers without AWS credentials: the client signs whatever it sends.
LEFT_OUT |= {"reportByToken"}
AT = datetime(2027, 1, 31, 9, tzinfo=UTC)


#: An option by the first word of its type; any other is a text.
OF_TYPES: dict[str, Any] = {"Duration": 60, "Mapping[str,": {"x": "y"}, "Sequence[str]": ["text"], "bool": False}


def example_of(kind: type[Target]) -> Target:
    """A target of the type, with a value in each of its fields."""
    arguments = inspect.signature(make := MAKERS[kind]).parameters
    given: dict[str, Any] = {}
    for name, argument in arguments.items():
        choices = re.findall(r"Literal\[\"(\w+)", str(argument.annotation))
        is_a = str(argument.annotation).partition(" ")[0]
        given[name] = choices[0] if choices else OF_TYPES.get(is_a, "text")
    return make(**given)


MAKING: list[Callable[..., Target]] = [getattr(targets, name) for name in targets.__all__]
#: By class of target the function that makes it.
MAKERS = {getattr(targets, make.__annotations__["return"]): make for make in MAKING}
#: Each type with a value in each of its fields.
TARGETS: dict[str, Target] = {f"{kind.__name__}Body": example_of(kind) for kind in MAKERS}
HTTP = TARGETS["HttpTargetBody"]
RETRY = requests.retry(
    max_attempts=2,
    backoff="fixed",
    initial_seconds=1,
    max_seconds=2,
    jitter="none",
    max_age_seconds=3,
    retry_status_codes=[404],
)
SCHEDULE: requests.ScheduleOptions = {
    "in_": 5,
    "at": AT,
    "every": 60,
    "cron": "0 3 * * *",
    "timezone": "UTC",
    "anchor_at": AT,
    "start_at": AT,
    "end_at": AT,
    "max_fires": 3,
    "jitter_seconds": 4,
    "exclude": ["2027-01-01"],
    "dst_gap": "skip",
    "dst_overlap": "both",
    "day_match": "and",
    "catch_up": "all",
    "catch_up_window_seconds": 60,
    "overlap": "skip",
}
DEFINITION: requests.DefinitionOptions = {
    **SCHEDULE,
    "retry": RETRY,
    "relevancy_window_seconds": 60,
    "precision": "second",
    "record": "full",
    "tags": {"team": "billing"},
    "ordering_key": "o",
    "sequence": 1,
    "on_failure": HTTP,
    "completion": requests.callback(heartbeat_seconds=60, timeout_seconds=600),
}
JOB: requests.JobOptions = {**DEFINITION, "key": "nightly"}
CLIENT: requests.ClientOptions = {
    "principals": ["arn"],
    "record": "full",
    "signing_secrets": ["s"],
    "allowed_queue_arns": ["arn"],
    "allowed_topics": ["t"],
    "allowed_private_targets": ["h:1"],
    "allowed_target_hosts": ["h"],
    "allowed_target_arns": ["arn"],
    "allowed_pools": ["p"],
    "retry": RETRY,
    "relevancy_window_seconds": 60,
    "precision": "second",
    "max_rate_per_second": 5,
    "max_concurrency": 5,
    "creates_per_second": 5,
    "jobs_per_day": 5,
    "min_interval_seconds": 1,
    "retention_days": 5,
    "dead_letter_queue_arn": "arn",
    "runs_index": True,
}
FILTER: requests.JobFilter = {"prefix": "p", "tag": "t", "limit": 5, "reason": "r"}
DEAD: requests.DeadFilter = {"prefix": "p", "from_": AT, "to": AT, "limit": 5}
#: Options as tests give them -> the options that there are.
WHOLE = [
    (SCHEDULE, requests.ScheduleOptions),
    (DEFINITION, requests.DefinitionOptions),
    (JOB, requests.JobOptions),
    (CLIENT, requests.ClientOptions),
    (DEAD, requests.DeadFilter),
    (FILTER, requests.JobFilter),
]
#: Methods that make calls of other methods: the first item of a list, and executions by the name of runs.
MADE_OF_OTHERS = {
    "clients.causes",
    "jobs.find",
    "runs.get",
    "runs.cancel",
    "runs.redrive",
    "runs.watch",
    "runs.mermaid",
}
#: The client refuses a job with several times. A preview of a schedule takes them all.
OTHER_TIMES = {"at", "every", "cron"}


def once(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without those of a second time."""
    return {name: value for name, value in options.items() if name not in OTHER_TIMES}


Call = Callable[[Clockwork], Any]
CALLS: dict[str, Call] = {
    "createJob": lambda cw: cw.schedule(HTTP, 1, client_id="c", idempotency_key="k", dry_run=True, **once(JOB)),
    "createBatch": lambda cw: list(cw.schedule_many([requests.job(HTTP, 1, **once(JOB))], key="k")),
    "listJobs": lambda cw: next(
        cw.jobs.list(
            prefix="p",
            state="ACTIVE",
            tag="t",
            key="k",
            contains="x",
            runs=2,
            due_from=AT,
            due_to=AT,
            client_id="c",
            page_size=1,
            next_token="n",
        ),
        None,
    ),
    "countJobs": lambda cw: cw.jobs.counts(prefix="p", tag="t", contains="x", client_id="c"),
    "getJob": lambda cw: cw.jobs.get("j"),
    "putJob": lambda cw: cw.jobs.replace("j", HTTP, 1, if_revision=3, dry_run=True, **once(DEFINITION)),
    "patchJob": lambda cw: cw.jobs.patch("j", {"tags": None}, if_revision=3, dry_run=True),
    "cancelJob": lambda cw: cw.jobs.cancel("j", if_revision=3, dry_run=True),
    "pauseJob": lambda cw: cw.jobs.pause("j", "r", waiting="cancel", if_revision=3, dry_run=True),
    "resumeJob": lambda cw: cw.jobs.resume("j", "r", waiting="cancel", if_revision=3, dry_run=True),
    "pauseJobs": lambda cw: cw.jobs.pause_many(client_id="c", waiting="cancel", next_token="n", **FILTER),
    "resumeJobs": lambda cw: cw.jobs.resume_many(
        client_id="c", waiting="cancel", paused_reason="r", next_token="n", **FILTER
    ),
    "cancelJobs": lambda cw: cw.jobs.cancel_many(client_id="c", next_token="n", **FILTER),
    "runJob": lambda cw: cw.jobs.run("j", idempotency_key="k"),
    "backfillJob": lambda cw: cw.jobs.backfill("j", AT, AT, max_per_second=1, idempotency_key="k"),
    "listFires": lambda cw: cw.jobs.fires("j", from_=AT, count=3),
    "previewSchedule": lambda cw: cw.jobs.preview(count=3, **SCHEDULE),
    "listExecutions": lambda cw: next(cw.executions.list("j", page_size=1, next_token="n"), None),
    "getExecution": lambda cw: cw.executions.get("e"),
    "cancelExecution": lambda cw: cw.executions.cancel("e"),
    "completeExecution": lambda cw: cw.executions.complete("e", "t", {"a": 1}),
    "failExecution": lambda cw: cw.executions.fail("e", "t", "an error", retryable=False, retry_after_seconds=3),
    "confirmCancel": lambda cw: cw.executions.cancelled("e", "t"),
    "beatExecution": lambda cw: cw.executions.heartbeat("e", "t", progress=0.5, message="half-way"),
    "redriveExecution": lambda cw: cw.executions.redrive("e", as_it_was=True, from_=["n"]),
    "listNodes": lambda cw: cw.runs.nodes("e"),
    "listDead": lambda cw: next(
        cw.dead.list(prefix="p", from_=AT, to=AT, client_id="c", page_size=1, next_token="n"), None
    ),
    "listClientRuns": lambda cw: cw.clients.runs(
        from_=AT, to=AT, state="DEAD", prefix="p", tag="t", jobs="all", client_id="c", page_size=1, next_token="n"
    ),
    "getActivity": lambda cw: cw.clients.activity(from_=AT, to=AT, step=60, client_id="c"),
    "listAttention": lambda cw: cw.clients.attention(
        prefix="p", from_=AT, to=AT, client_id="c", page_size=1, next_token="n"
    ),
    "redriveDead": lambda cw: cw.dead.redrive(client_id="c", next_token="n", **DEAD),
    "discardDead": lambda cw: cw.dead.discard(client_id="c", next_token="n", **DEAD),
    "beginOperation": lambda cw: cw.operations.begin(
        "resumeJobs",
        prefix="p",
        tag="t",
        from_=AT,
        to=AT,
        paused_reason="r",
        waiting="cancel",
        max_per_second=5,
        reason="r",
        client_id="c",
        idempotency_key="k",
    ),
    "listOperations": lambda cw: next(cw.operations.list(client_id="c", page_size=1, next_token="n"), None),
    "getOperation": lambda cw: cw.operations.get("o", client_id="c"),
    "stopOperation": lambda cw: cw.operations.stop("o", reason="r", client_id="c"),
    "putClient": lambda cw: cw.clients.put("c", if_revision=3, **CLIENT),
    "getClient": lambda cw: cw.clients.get("c"),
    "deleteClient": lambda cw: cw.clients.delete("c", if_revision=3),
    "pauseClient": lambda cw: cw.clients.pause("c", reason="r", if_revision=3),
    "resumeClient": lambda cw: cw.clients.resume("c", reason="r", if_revision=3),
    "releaseParked": lambda cw: cw.clients.release_parked("c", max_per_second=1),
    "discardParked": lambda cw: cw.clients.discard_parked("c"),
    "listUpcoming": lambda cw: next(cw.upcoming(from_=AT, to=AT, client_id="c", page_size=1, next_token="n"), None),
    "listAudit": lambda cw: next(cw.audit(job_id="j", client_id="c", page_size=1, next_token="n"), None),
    "whoAmI": lambda cw: cw.whoami(),
    "listShards": lambda cw: cw.shards(),
    "listClients": lambda cw: next(cw.clients.list(page_size=1, next_token="n"), None),
    "listPools": lambda cw: cw.pools.list(),
    "putPool": lambda cw: cw.pools.put("p", principals=["arn"], handlers=["h"], lease_seconds=60, if_revision=3),
    "getPool": lambda cw: cw.pools.get("p"),
    "listRunning": lambda cw: cw.pools.running("p", limit=5),
    "getUsage": lambda cw: cw.clients.usage("c"),
    "getHealth": lambda cw: cw.health(),
    "getOpenapi": lambda cw: cw.description(),
}
#: Class -> the schemas that it reads.
ANSWERS: dict[type[Answer], set[str]] = {
    results.Job: {
        *("AnonymousJob", "ShownNamedJob", "CreatedJob", "WrittenJob", "ChangedJob", "JobSummary", "FormerJob"),
        *("CreatedElement", "WrittenElement"),
    },
    results.Execution: {"Execution", "CancelledExecution"},
    results.Attempt: {"Attempt"},
    results.SkippedStretch: {"SkippedStretch"},
    results.Waits: {"Waits"},
    waiting.Waiting: {"Waiting"},
    reports.Completion: {"ShownCompletion", "CompletionBody"},
    reports.AtWork: {"AtWork"},
    reports.Report: {"Report"},
    results.NextFire: {"NextFire"},
    results.JobFire: {"JobFire"},
    results.Ran: {"Ran"},
    handled.Tagged: {"Tagged"},
    handled.InState: {"InState"},
    handled.JobCounts: {"JobCounts"},
    results.JobFires: {"JobFires"},
    results.ReleasedFire: {"ReleasedFire"},
    results.Outcomes: {"Outcomes"},
    results.RetryPolicy: {"ShownRetryPolicy", "RetryPolicyBody"},
    results.Every: {"EveryBody"},
    results.Schedule: {"ScheduleBody", "ShownSchedule"},
    results.Cancellation: {"Cancellation"},
    results.StartedRun: {"StartedRun"},
    results.StartedBackfill: {"StartedBackfill"},
    results.Preview: {"Preview"},
    results.Client: {"ShownClient"},
    pools.PoolState: {"ShownPool"},
    pools.WaitingTickets: {"WaitingTickets"},
    pools.SeenWorker: {"SeenWorker"},
    pools.RunningAttempt: {"RunningAttempt"},
    overview.WhoAmI: {"WhoAmI"},
    overview.Counted: {"Counted"},
    overview.OpenCircuit: {"OpenCircuit"},
    overview.Reads: {"Reads"},
    overview.Usage: {"Usage"},
    overview.Shard: {"ShownShard"},
    overview.UpcomingItem: {"UpcomingItem"},
    overview.AuditEntry: {"AuditEntry"},
    handled.HandledDead: {"HandledDead"},
    handled.HandledJobs: {"HandledJobs"},
    handled.PassedJob: {"PassedJob"},
    operations.Operation: {"Operation"},
    operations.OperationFilter: {"OperationFilter", "OperationFilterBody"},
    operations.PassedItem: {"PassedItem"},
    attention.ClientRuns: {"ClientRuns"},
    attention.ClientRun: {"ClientRun"},
    attention.Activity: {"Activity"},
    attention.ActivityStep: {"ActivityStep"},
    attention.Attention: {"AttentionPage"},
    attention.AttentionItem: {"AttentionItem"},
    attention.AttentionGroup: {"AttentionGroup"},
    results.Unparking: {"Unparking"},
    results.Discarding: {"Discarding"},
    answers.WorkflowTarget: {"ShownWorkflowTarget"},
    answers.RunCounts: {"RunCounts"},
    answers.NodeOfRun: {"NodeOfRun"},
    answers.Node: {"RunNode"},
    answers.RunNodes: {"RunNodes"},
    **{kind: {f"Shown{kind.__name__}", f"{kind.__name__}Body"} for kind in MAKERS},
}
#: Fields of a batch's elements that stand around the job: `Created` has them as its position and its kind.
AROUND = {"index", "status"}
#: Shapes that become no object of their own: pages, choices, a batch, what is read as a plain dict.
OTHERWISE = {
    "JobPage",
    "ExecutionPage",
    "DeadPage",
    "Job",
    "Created",
    "CreatedBatch",
    "RefusedElement",
    "Problem",
    "Fault",
}
OTHERWISE |= {
    "ShownNode",
    "ShownCondition",
    "Health",
    "ClientPage",
    "ShardList",
    "UpcomingPage",
    "AuditPage",
    "OperationPage",
    "PoolList",
    "RunningList",
}


class Answered(Exception):
    """The request was seen: nothing has to be read."""


def sent_by(call: Call) -> Request:
    seen: list[Request] = []

    def take(request: Request) -> Response:
        seen.append(request)
        raise Answered

    with pytest.raises((Answered, errors.ClockworkError)):
        call(client_of(take, client_id="c"))
    (request,) = seen
    return request


def properties(schema: Mapping[str, Any], value: Any, at: str = "") -> Iterator[tuple[str, set[str], set[str]]]:
    """For each object of a request's body: its pointer, the properties described, and those sent."""
    schema = resolved(schema)
    choices = [resolved(one) for one in schema.get("oneOf", schema.get("anyOf", []))]
    if choices and "properties" not in schema:
        fitting = [one for one in choices if _fits(one, value)]
        if fitting:
            yield from properties(fitting[0], value, at)
    elif isinstance(value, dict) and "properties" in schema:
        yield at, set(schema["properties"]), set(value)
        for name, part in value.items():
            yield from properties(schema["properties"].get(name, {}), part, f"{at}/{name}")
    elif isinstance(value, list):
        for part in value:
            yield from properties(schema.get("items", {}), part, f"{at}/0")


def _fits(schema: Mapping[str, Any], value: Any) -> bool:
    if isinstance(value, dict) and "type" in schema.get("properties", {}):
        return bool(schema["properties"]["type"].get("const") == value.get("type"))
    return bool(schema.get("type") != "null")


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return schema


def test_the_client_has_every_operation() -> None:
    assert set(CALLS) | LEFT_OUT == set(OPERATIONS)


@pytest.mark.parametrize("operation", CALLS)
def test_everything_that_an_operation_takes_can_be_given_and_nothing_else(operation: str) -> None:
    request = sent_by(CALLS[operation])
    method, path, described = OPERATIONS[operation]
    parts = urlsplit(request.url)
    assert request.method == method
    assert re.fullmatch(re.sub(r"\{\w+\}", "[a-z]", path), parts.path)
    parameters = {
        kind: {one["name"] for one in described.get("parameters", []) if one["in"] == kind}
        for kind in ("query", "header")
    }
    assert {name for name, _ in parse_qsl(parts.query)} == parameters["query"]
    assert set(request.headers) & {"Idempotency-Key", "If-Match"} == parameters["header"]
    body = described.get("requestBody")
    schema = body["content"]["application/json"]["schema"] if body is not None else {}
    if request.body is None:
        assert not resolved(schema).get("properties")
    else:
        assert body is not None
        for pointer, wanted, sent in properties(schema, json.loads(request.body)):
            unsent = OTHER_TIMES if pointer.endswith("/schedule") and operation != "previewSchedule" else set()
            assert sent == wanted - unsent, f"{operation} {pointer}"


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_can_be_given_whole(name: str) -> None:
    raw = TARGETS[name].raw
    assert set(raw) == set(SCHEMAS[name]["properties"])
    assert raw["type"] == SCHEMAS[name]["properties"]["type"]["const"]


def test_the_targets_are_those_of_the_api() -> None:
    choices = {one["$ref"].rpartition("/")[2] for one in SCHEMAS["DefinitionBody"]["properties"]["target"]["oneOf"]}
    assert {*TARGETS, "WorkflowTargetBody"} == choices


def test_a_workflow_can_be_given_whole() -> None:
    wf = Workflow(timeout=60)
    first = wf.step("first", HTTP)
    conditions = [first.state.is_("DEAD"), first.state.is_not("DEAD")]
    completion, rules = requests.callback(timeout_seconds=600), {"when": "ended", "optional": True}
    wf.step("second", HTTP, payload=1, after=first, if_=conditions, delay=1, retry=RETRY, completion=completion,
            relevancy_window_seconds=1, **rules)  # type: ignore[arg-type]  # fmt: skip
    assert set(wf.raw) == set(SCHEMAS["WorkflowTargetBody"]["properties"])
    given = wf["second"].raw
    assert set(given) == set(SCHEMAS["NodeBody"]["properties"])
    assert {name for one in given["if"] for name in one} == set(SCHEMAS["ConditionBody"]["properties"])


def test_the_retry_policy_can_be_given_whole() -> None:
    assert set(RETRY.raw) == set(SCHEMAS["RetryPolicyBody"]["properties"])


@pytest.mark.parametrize(("given", "options"), WHOLE, ids=lambda one: getattr(one, "__name__", ""))
def test_no_option_is_left_out_here(given: Mapping[str, Any], options: Any) -> None:
    assert set(given) == set(options.__annotations__)


@pytest.mark.parametrize("options", [one for _, one in WHOLE], ids=lambda one: one.__name__)
def test_the_values_of_an_option_are_those_of_the_api(options: Any) -> None:
    found = {name: set(get_args(hint)) for name, hint in get_type_hints(options).items() if _is_literal(hint)}
    described = SCHEMAS["ScheduleBody"]["properties"] | SCHEMAS["JobBody"]["properties"]
    for name, values in found.items():
        schema = described[camel(name)]
        enum = schema.get("enum") or next(one["enum"] for one in schema["anyOf"] if "enum" in one)
        assert values == set(enum), name


def _is_literal(hint: Any) -> bool:
    return bool(get_args(hint)) and all(isinstance(one, str) for one in get_args(hint))


def test_no_method_is_left_out_here() -> None:
    asked: set[str] = set()
    for kind in (resources.Jobs, resources.Executions, resources.Dead, clients.Clients, pools.Pools, Runs):
        asked |= {f"{kind.__name__.lower()}.{name}" for name, _ in inspect.getmembers(kind, inspect.isfunction)}
    told = {f"{match[1]}.{match[2]}" for call in CALLS.values() for match in _called(call)}
    assert {name for name in asked if "._" not in name} - told == MADE_OF_OTHERS


def _called(call: Call) -> list[re.Match[str]]:
    names = " ".join([*call.__code__.co_names])
    return list(re.finditer(r"\b(jobs|executions|dead|clients|pools|runs) (\w+)", names))


def answer_schemas() -> set[str]:
    """The shapes that the answers of the client's operations are made of."""
    found: set[str] = set()
    waiting = [
        json.dumps(response)
        for name in CALLS
        for response in OPERATIONS[name][2]["responses"].values()
        if "application/json" in response.get("content", {})
    ]
    while waiting:
        new = set(re.findall(r'"#/components/schemas/(\w+)"', waiting.pop())) - found
        found |= new
        waiting += [json.dumps(SCHEMAS[name]) for name in new]
    return found


def test_every_shape_of_an_answer_has_its_class() -> None:
    read = set().union(*ANSWERS.values())
    requested = {name for name in read if name.endswith("Body")}
    assert answer_schemas() - OTHERWISE == read - requested | (requested & answer_schemas())


@pytest.mark.parametrize("kind", ANSWERS, ids=lambda kind: kind.__name__)
def test_every_field_of_an_answer_has_its_typed_attribute(kind: type[Answer]) -> None:
    schemas = [SCHEMAS[name] for name in ANSWERS[kind]]
    described = {name for schema in schemas for name in schema["properties"]}
    if kind is results.Job:
        described -= AROUND
    hints = get_type_hints(kind)
    attributes = {json_name: hints[name] for name, json_name, _, _ in fields_of(kind)}
    assert set(attributes) == described
    for name, hint in attributes.items():
        if hint is Any:
            continue
        everywhere = all(name in schema.get("required", []) for schema in schemas)
        assert (NoneType in get_args(hint)) == (not everywhere), f"{kind.__name__}.{name}"
        plain = [one for one in get_args(hint) if one is not NoneType] if NoneType in get_args(hint) else [hint]
        for schema in schemas:
            if name in schema["properties"]:
                assert plain[0] in expected(schema["properties"][name]), f"{kind.__name__}.{name}"


def expected(schema: Mapping[str, Any]) -> set[Any]:
    """The types that the attribute of a field of this schema may have."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return {kind for kind, names in ANSWERS.items() if name in names}
    choices = [one for one in schema.get("oneOf", schema.get("anyOf", [])) if one.get("type") != "null"]
    if choices:
        kinds = set().union(*(expected(one) for one in choices))
        return {Target} if all(isinstance(one, type) and issubclass(one, Target) for one in kinds) else kinds
    if schema.get("type") == "array":
        return {GenericAlias(tuple, (one, ...)) for one in expected(schema["items"])}
    if schema.get("type") == "object":
        return {Mapping[str, str] if schema["additionalProperties"].get("type") == "string" else Mapping[str, Any]}
    if schema.get("format") == "date-time":
        return {datetime}
    if "const" in schema:
        return {type(schema["const"])}
    return {{"string": str, "integer": int, "number": float, "boolean": bool}[schema["type"]]}


def test_a_refusal_holds_what_a_problem_holds() -> None:
    assert set(SCHEMAS["Fault"]["properties"]) == set(errors.Fault._fields)
    assert set(SCHEMAS["Problem"]["properties"]) == {"type", "title", "status", "detail", "errors"}
    statuses = {int(status) for _, _, one in OPERATIONS.values() for status in one["responses"] if status.isdigit()}
    assert {status for status in statuses if 400 <= status < 500} == set(errors.REFUSALS)


def test_the_comparison_sees_what_is_missing() -> None:
    body = {"schedule": {"cron": "* * * * *"}, "target": {"type": "http", "url": "https://a"}}
    found = {at: wanted - sent for at, wanted, sent in properties(SCHEMAS["CreateJobBody"], body)}
    assert "jobKey" in found[""]
    assert found["/target"] == {"method", "headers", "timeoutSeconds"}
    assert "timezone" in found["/schedule"]
    assert partial(sent_by, CALLS["getJob"])().method == "GET"


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_a_target_of_an_answer_is_of_the_class_that_makes_it(target: Target) -> None:
    read = target_of(json.loads(json.dumps(target.raw)))
    assert (type(read), read) == (type(target), target)
