"""The API's description: current, complete, valid, and true of every operation for any request."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import CHECKS
from schemathesis.config import SchemathesisConfig

from clockwork.domain.executions import Awaited, Execution, State
from clockwork.domain.ids import only_execution
from clockwork.domain.instants import from_text
from clockwork.domain.lifecycle.tokens import Token, decode_token
from clockwork.domain.policies import Completion
from clockwork.domain.workflows.definition import Node, WorkflowTarget
from clockwork.edge.description import openapi
from clockwork.edge.description.contract import OPERATIONS
from clockwork.edge.description.examples import TOKEN
from clockwork.routes import ROUTES
from tests.handlers.description import DESCRIPTION
from tests.handlers.handlers import Api
from tests.handlers.wsgi import Gateway
from tests.support.examples import ADMIN, ALICE, TARGET, execution, occurrence

API = Api(pools=("batch-etl=normal",))
JOB = API.create(schedule={"delaySeconds": 1}).body["jobId"]
API.clockwork.run_until(API.clockwork.clock.at + 100_000)
IDS = {"jobId": JOB, "executionId": API.clockwork.executions.all()[0].execution_id, "clientId": "acme"}
OPERATION: Any = {"kind": "pauseJobs", "filter": {"prefix": "a"}}
IDS |= {"operationId": API.call("POST", "/v1/clients/acme/operations", OPERATION).body["operationId"]}
IDS |= {"pool": "batch-etl", "token": f"{'x' * 40}.1.{'x' * 22}.{'x' * 11}"}
SERVED = ("/v1/openapi.json", Gateway(API, ADMIN))
#: Requests from the examples, and drawn ones.
DRAWN = schemathesis.openapi.from_wsgi(
    *SERVED, config=SchemathesisConfig.from_dict({"phases": {"coverage": {"enabled": False}}})
)
#: The same, and hundreds with a value at each bound of each field: `test_description_at_bounds` has these.
SCHEMA = schemathesis.openapi.from_wsgi(*SERVED)
CHECKED: list[Any] = CHECKS.get_by_names(  # the library's types say that not all of them are functions
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
    ]
)
bounded = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.long
@DRAWN.parametrize()
@settings(bounded, max_examples=8)
def test_every_operation_keeps_the_description(case: Case[Any]) -> None:
    assert_kept(case)


def assert_kept(case: Case[Any]) -> None:
    """A request is answered as described, also for a job and a client that exist."""
    case.call_and_validate(checks=CHECKED)
    case.path_parameters = {name: IDS[name] for name in case.path_parameters}
    if case.method == "POST" and isinstance(case.body, dict):
        case.body["clientId"] = "acme"
    case.call_and_validate(checks=CHECKED)


@pytest.mark.parametrize("path", [openapi.SERVED, openapi.DOCUMENTED], ids=["served", "docs"])
def test_the_description_is_current(path: Any) -> None:
    assert json.loads(path.read_text(encoding="utf-8")) == openapi.describe(), "run `make openapi`"


def test_the_description_is_served_to_whoever_may_sign() -> None:
    answer = API.call("GET", "/v1/openapi.json", caller="arn:aws:iam::333333333333:user/anybody")
    assert (answer.status, answer.content_type, answer.body) == (200, "application/json", DESCRIPTION)


def test_the_description_is_valid_openapi() -> None:
    SCHEMA.validate()
    for schema in DESCRIPTION["components"]["schemas"].values():
        jsonschema_rs.meta.validate({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})
    pointers = set(re.findall(r'"\$ref": ?"#/components/(\w+)/(\w+)"', json.dumps(DESCRIPTION)))
    assert all(name in DESCRIPTION["components"][kind] for kind, name in pointers)
    used = {name for kind, name in pointers if kind == "schemas"}
    assert used == set(DESCRIPTION["components"]["schemas"])


def test_every_route_is_described_and_nothing_else() -> None:
    assert {route.operation for route in ROUTES} == set(OPERATIONS)
    described = {f"{method.upper()} {path}" for path, methods in DESCRIPTION["paths"].items() for method in methods}
    assert described == {route.key for route in ROUTES}
    for methods in DESCRIPTION["paths"].values():
        for operation in methods.values():
            # Whoever need not sign is never told that it may not call.
            refusal = {"404"} if operation.get("security") == [] else {"403"}
            assert {"500", "503", *refusal} <= set(operation["responses"])
    unsigned = [route.path for route in ROUTES if route.unsigned]
    found = DESCRIPTION["paths"].items()
    assert [path for path, methods in found if '"security": []' in json.dumps(methods)] == unsigned


EXAMPLES = [
    pytest.param(route, example, id=f"{route.key} {number}")
    for route in ROUTES
    for number, example in enumerate(OPERATIONS[route.operation].examples)
]


def _at_work(job_id: str, token: Token, now: int) -> Execution:
    """An execution whose target has accepted, and whose receiver is at work."""
    return execution(
        State.RUNNING,
        job_id=job_id,
        execution_id=token.execution_id,
        attempt=token.attempt,
        claimant=token.claimant,
        claim_until=now + 60_000,
        started_at=now,
        occurrence=occurrence(completion=Completion()),
        awaited=Awaited(heartbeat_ms=60_000, deadline_at=now + 600_000, accepted_at=now),
    )


@pytest.mark.parametrize(("route", "example"), EXAMPLES)
def test_every_example_is_taken(route: Any, example: dict[str, Any]) -> None:
    pools = ("batch-etl=high,normal,low",)
    kafka = "https://sqs.us-east-1.amazonaws.com/123456789012/kafka"
    api = Api(kafka_release_queue_url=kafka, pools=pools, takes_unsigned=True)
    lists = {"allowedQueueArns": ["arn:aws:sqs:us-east-1:123456789012:orders"], "allowedTopics": ["orderTopic"]}
    api.clockwork.signing_secrets.names.add("clockwork/acme")
    api.call("PUT", "/v1/clients/acme", {"principals": [ALICE], **lists}, caller=ADMIN)
    # The instants in the examples have to be in the future; those of a backfill in the past.
    in_backfill = route.operation == "backfill_job"
    api.clockwork.clock.at = 1_778_000_000_000 if in_backfill else 1_777_000_000_000
    job_id = api.create(jobKey="k", schedule={"every": {"seconds": 3_600}}).body["jobId"]
    anonymous = api.create(schedule={"at": "2026-06-01T00:00:00Z"}).body["jobId"]
    execution_id = only_execution(anonymous, from_text("2026-06-01T00:00:00Z"))
    if route.operation == "redrive_execution":
        # Only a dead execution can be redriven, and from a node only a run that has it.
        run = occurrence(target=WorkflowTarget({"fetch": Node(target=TARGET)}))
        lost = execution(State.DEAD, job_id=anonymous, execution_id=execution_id, occurrence=run)
        api.clockwork.executions.save([(None, lost)])
    # Only its workers call what is below a pool.
    api.call("PUT", "/v1/pools/batch-etl", {"principals": [ALICE]}, caller=ADMIN)
    if route.operation == "delete_schedule":
        # Only an existing job can be cancelled.
        api.call("POST", "/schedule", OPERATIONS["post_schedule"].examples[0])
    sent = example
    (key,) = api.clockwork.ticket_keys.get()
    token = Token(execution_id, 1, decode_token(TOKEN).secret).checked(key)
    if "token" in example or route.unsigned:
        # Only an execution at work is reported on, under the token of its own attempt.
        at_work = _at_work(anonymous, token, api.clockwork.clock.at)
        if route.operation == "confirm_cancel":
            # Only where somebody has asked for a cancel has a receiver stopped because of it.
            at_work = at_work.changed(cancel_noted_at=api.clockwork.clock.at)
        api.clockwork.executions.save([(None, at_work)])
        sent = example if route.unsigned else {**example, "token": str(token)}
    ids = {"jobId": job_id, "clientId": "acme", "executionId": execution_id, "pool": "batch-etl", "token": str(token)}
    if "{operationId}" in route.path:
        ids["operationId"] = api.call("POST", "/v1/clients/acme/operations", OPERATION).body["operationId"]
    path = route.path.format(**ids)
    answer = api.call(route.method, path, sent, caller=ADMIN if route.admin else ALICE)
    assert answer.status == OPERATIONS[route.operation].status
    assert '"status":422' not in answer.text
    described = DESCRIPTION["paths"][route.path][route.method.lower()]["requestBody"]["content"]["application/json"]
    assert example in [one["value"] for one in described["examples"].values()]
    whole = {**described["schema"], "components": DESCRIPTION["components"]}
    jsonschema_rs.Draft202012Validator(whole, validate_formats=True).validate(example)


def test_the_state_of_an_anonymous_job_is_its_own_or_that_of_its_execution() -> None:
    schemas = DESCRIPTION["components"]["schemas"]
    own, of_execution = schemas["AnonymousJob"]["properties"]["state"]["anyOf"]
    assert own == {"enum": ["SCHEDULED", "RELEASED"], "type": "string"}
    assert of_execution == schemas["Execution"]["properties"]["state"]
