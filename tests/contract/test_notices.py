"""The contract of `ports.Notices` on SQS: one notice to the client of a dead execution, without the payload."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clockwork.aws.targets.notices import AwsNotices
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, State
from clockwork.domain.instants import to_text
from clockwork.targets.message import Payload
from tests.contract.worlds import AwsWorld
from tests.support.examples import NOW, execution, failure, like, occurrence

SECRET = Payload(b'{"card":"4111"}')


def dead() -> Execution:
    lost = occurrence(payload=SECRET, tags={"team": "billing"})
    attempts = (failure(error="HTTP 500").as_attempt(1),)
    return execution(State.DEAD, attempt=1, attempts=attempts, reason="given up", occurrence=lost)


def heard(world: AwsWorld, url: str) -> list[dict[str, Any]]:
    answer = world.aws.client("sqs").receive_message(QueueUrl=url, MaxNumberOfMessages=10, AttributeNames=["All"])
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


def queue(world: AwsWorld, name: str, **attributes: str) -> tuple[str, str]:
    sqs = world.aws.client("sqs")
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]


def test_a_client_is_told_whose_it_is_why_and_how_it_failed_but_not_its_payload(aws_world: AwsWorld) -> None:
    url, arn = queue(aws_world, "dead")
    AwsNotices(aws_world.aws).send(arn, dead())
    (told,) = heard(aws_world, url)
    assert told == {
        "executionId": dead().execution_id,
        "jobId": dead().job_id,
        "jobKey": None,
        "clientId": "acme",
        "dueAt": to_text(NOW),
        "state": "DEAD",
        "reason": "given up",
        "attempts": 1,
        "lastError": "HTTP 500",
        "lastStatusCode": None,
        "tags": {"team": "billing"},
    }


def test_tags_with_characters_that_a_queue_refuses_are_told_too(aws_world: AwsWorld) -> None:
    url, arn = queue(aws_world, "dead")
    tags = {"team": "billing\ufffe", "größe": "\x7f\uffff"}
    AwsNotices(aws_world.aws).send(arn, like(dead(), occurrence=occurrence(tags=tags)))
    assert [told["tags"] for told in heard(aws_world, url)] == [tags]


def test_on_a_fifo_queue_a_death_is_told_once(aws_world: AwsWorld) -> None:
    url, arn = queue(aws_world, "dead.fifo", FifoQueue="true")
    for _ in range(2):
        AwsNotices(aws_world.aws).send(arn, dead())
    assert len(heard(aws_world, url)) == 1


@pytest.mark.parametrize("name", ["no-such-queue", "a/b"])
def test_a_queue_that_cannot_be_told_is_unavailable(aws_world: AwsWorld, name: str) -> None:
    with pytest.raises(Unavailable, match=name):
        AwsNotices(aws_world.aws).send(f"arn:aws:sqs:us-east-1:{aws_world.account}:{name}", dead())
