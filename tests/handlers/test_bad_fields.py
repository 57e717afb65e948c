"""Faults of fields: each one gives 422 and a pointer to the field, and nothing is written."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.storage.codec import encode
from tests.handlers.faults import (
    EVENTBRIDGE,
    FIELDS,
    FIFO,
    HTTP,
    LAMBDA,
    LISTED_ARNS,
    QUEUE,
    ROLE,
    SNS,
    TOPIC,
    Fault,
    refused,
    retry,
    schedule,
    target,
)
from tests.handlers.handlers import Api, job_body
from tests.support.examples import ACME, ADMIN


def api_with_queues() -> Api:
    """Acme may use two queues."""
    api = Api()
    acme = msgspec.structs.replace(ACME, allowed_queue_arns=(QUEUE, FIFO), allowed_target_arns=LISTED_ARNS)
    api.clockwork.clients.put(acme)
    return api


@pytest.mark.parametrize("fault", FIELDS, ids=[fault.id for fault in FIELDS])
def test_a_fault_of_a_job_is_422_alone_and_in_a_batch(fault: Fault) -> None:
    api = api_with_queues()
    answer = api.create(**fault.body)
    refused(answer, 422)
    assert answer.pointers == [fault.pointer]
    assert fault.says in answer.details[0]
    assert api.writes == []
    if fault.pointer == "/clientId":
        return
    batch = api.call("POST", "/v1/jobs/batch", {"jobs": [job_body(**fault.body)]})
    assert batch.status == 200
    (result,) = batch.body["results"]
    assert (result["index"], result["status"]) == (0, 422)
    assert [one["pointer"] for one in result["problem"]["errors"]] == [f"/jobs/0{fault.pointer}"]
    assert api.writes == []


def test_values_at_their_bounds_are_taken() -> None:
    api = api_with_queues()
    good: list[dict[str, Any]] = [
        schedule(delaySeconds=0),
        schedule(delaySeconds=315_360_000),
        schedule(delaySeconds=0.001),
        schedule(at="2023-11-13T22:13:20Z"),
        schedule(at="2033-11-11t22:13:20.000z"),
        schedule(at="2023-11-15T00:00:00.123456789+05:30"),
        target(url=f"https://example.com/{'x' * 2_028}"),
        target(headers={f"x-{n}": "" for n in range(20)}),
        target(timeoutSeconds=15),
        target(timeoutSeconds=1),
        {"payload": "a" * 256 * 1024},
        {"payload": None},
        {"payload": 10**999},
        {"tags": {"k" * 64: "v" * 256} | {f"t{n}": "" for n in range(19)}},
        {"record": None},
        retry(maxAttempts=100, initialSeconds=86_400, maxSeconds=86_400, maxAgeSeconds=1_209_600),
        {"target": {"type": "sqs", "queueArn": FIFO, "messageGroupId": "g" * 128}},
        {"clientId": None},
        {"target": {"type": "sqs", "queueArn": QUEUE, "roleArn": ROLE}},
        {"target": {**LAMBDA, "roleArn": ROLE}, "payload": "a" * 245_758},
        {"target": EVENTBRIDGE},
        {"target": {**SNS, "topicArn": f"{TOPIC}.fifo", "messageGroupId": "g"}},
    ]
    for changes in good:
        answer = api.create(**changes)
        assert answer.status == 201, (changes, answer.text)


CLIENT_FIELDS = [
    Fault("an unknown field", {"color": 1}, "/color", "is not a known field"),
    Fault("a policy without attempts", {"retryPolicy": {"maxAttempts": 0}}, "/retryPolicy/maxAttempts", "at least 1"),
    Fault("no window", {"relevancyWindowSeconds": 0}, "/relevancyWindowSeconds", "at least 1"),
    Fault("a rate of nothing", {"maxRatePerSecond": 0}, "/maxRatePerSecond", "at least 0.01"),
    Fault("half a delivery", {"maxConcurrency": 0.5}, "/maxConcurrency", "whole number"),
    Fault("no creates", {"createsPerSecond": 0}, "/createsPerSecond", "at least 0.01"),
    Fault("no jobs", {"jobsPerDay": 0}, "/jobsPerDay", "at least 1"),
    Fault("a year and a day", {"retentionDays": 366}, "/retentionDays", "at most 365"),
    Fault("no day", {"retentionDays": 0}, "/retentionDays", "at least 1"),
    Fault("a dead-letter queue of others", {"deadLetterQueueArn": QUEUE}, "/deadLetterQueueArn", "allowedQueueArns"),
    Fault("a host with a path", {"allowedTargetHosts": ["example.com/x"]}, "/allowedTargetHosts/0", "must match"),
    Fault("a host in capitals", {"allowedTargetHosts": ["Example.com"]}, "/allowedTargetHosts/0", "must match"),
    Fault("no host name", {"allowedTargetHosts": ["a", "b..c"]}, "/allowedTargetHosts/1", "no host name"),
    Fault("an ARN of a queue", {"allowedTargetArns": [QUEUE]}, "/allowedTargetArns/0", "must match"),
    Fault("a star in the middle", {"allowedTargetArns": ["arn:aws:sns:*:x"]}, "/allowedTargetArns/0", "must match"),
    Fault("principals as text", {"principals": "arn"}, "/principals", "must be a list"),
    Fault("a principal that is everybody", {"principals": ["*"]}, "/principals/0", "must match"),
    Fault(
        "a session as principal",
        {"principals": ["arn:aws:sts::111111111111:assumed-role/app/session"]},
        "/principals/0",
        "list the role itself, arn:aws:iam::111111111111:role/app",
    ),
    Fault("a role with a path", {"principals": ["arn:aws:iam::111111111111:role/a/b"]}, "/principals/0", "must match"),
    Fault(
        "more principals than one transaction replaces",
        {"principals": [f"arn:aws:iam::111111111111:user/u{n}" for n in range(50)]},
        "/principals",
        "at most 49",
    ),
    Fault("an unknown record level", {"record": "some"}, "/record", "'none' or 'full'"),
    Fault("three secrets", {"signingSecrets": ["clockwork/a"] * 3}, "/signingSecrets", "at most 2"),
    Fault(
        "a secret of somebody else",
        {"signingSecrets": ["prod/database"]},
        "/signingSecrets/0",
        "must begin with clockwork/ or ssm:/clockwork/",
    ),
    Fault(
        "a parameter of somebody else",
        {"signingSecrets": ["ssm:/prod/key"]},
        "/signingSecrets/0",
        "must begin with clockwork/",
    ),
    Fault("a parameter without its slash", {"signingSecrets": ["ssm:clockwork/a"]}, "/signingSecrets/0", "must match"),
    Fault("a secret itself", {"signingSecrets": ["whsec_c2VjcmV0"]}, "/signingSecrets/0", "must match"),
    Fault("a queue that is no ARN", {"allowedQueueArns": ["jobs"]}, "/allowedQueueArns/0", "must match"),
    Fault(
        "a private target without port",
        {"allowedPrivateTargets": ["a.internal"]},
        "/allowedPrivateTargets/0",
        "host:port",
    ),
    Fault(
        "a private target with a path",
        {"allowedPrivateTargets": ["a.internal:80/x"]},
        "/allowedPrivateTargets/0",
        "host:port",
    ),
]


@pytest.mark.parametrize("fault", CLIENT_FIELDS, ids=[fault.id for fault in CLIENT_FIELDS])
def test_a_fault_of_a_client_is_422(fault: Fault) -> None:
    api = Api()
    answer = api.call("PUT", "/v1/clients/acme", fault.body, caller=ADMIN)
    refused(answer, 422)
    assert answer.pointers == [fault.pointer]
    assert fault.says in answer.details[0]
    assert api.writes == []


@pytest.mark.parametrize("client_id", ["Acme", "9lives", "a" * 65, "a_b", "é"])
def test_a_client_is_not_made_under_another_kind_of_id(client_id: str) -> None:
    api = Api()
    answer = api.call("PUT", f"/v1/clients/{client_id}", {"record": "some"}, caller=ADMIN)
    refused(answer, 422)
    assert answer.pointers == ["", "/record"]
    assert "1-64" in answer.details[0]
    assert api.writes == []


def test_the_row_of_a_named_job_holds_the_largest_of_everything() -> None:
    api = Api()
    changes = {
        "jobKey": "k" * 255,
        "schedule": {"cron": "0 3 * * *", "exclude": [f"2024-01-{day:02}" for day in range(1, 32)] * 3},
        "target": {**HTTP, "url": f"https://example.com/{'x' * 2_028}", "headers": {"x": "a" * 4_095}},
        "onFailure": {**HTTP, "url": f"https://example.com/{'y' * 2_028}", "headers": {"x": "b" * 4_095}},
        "payload": "a" * 256 * 1024,
        "tags": {f"{n:064}": "v" * 256 for n in range(20)},
    }
    created = api.create(**changes)
    assert created.status == 201, created.text
    ((job,),) = api.clockwork.jobs.scan(0, 1)
    # https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html
    assert isinstance(job, NamedJob)
    assert len(encode(job)) < 400 * 1024 - 2_048
    assert api.create(**changes).body["jobId"] == created.body["jobId"]
    shown = api.call("PATCH", f"/v1/jobs/{created.body['jobId']}", {"tags": None})
    assert shown.body["revision"] == 2
    assert api.call("GET", f"/v1/jobs/{created.body['jobId']}").body["payload"] == changes["payload"]
