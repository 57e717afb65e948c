"""The contract of `ports.DeadLetters` over several queues of SQS."""

from __future__ import annotations

import uuid

import pytest

from clockwork.aws.queues.dead_letters import AwsDeadLetters
from clockwork.domain.errors import Unavailable
from tests.contract.worlds import AwsWorld


@pytest.fixture
def urls(aws_world: AwsWorld) -> list[str]:
    """Two queues, with a message in the first and another in the second."""
    sqs = aws_world.aws.client("sqs")
    urls = [sqs.create_queue(QueueName=f"dead-{uuid.uuid4().hex}")["QueueUrl"] for _ in range(2)]
    for url, body in zip(urls, ("first", "second"), strict=True):
        sqs.send_message(QueueUrl=url, MessageBody=body)
    return urls


def held_by(aws_world: AwsWorld, url: str) -> int:
    """How many messages are in a queue, visible or received."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    answer = aws_world.aws.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=names)
    return sum(map(int, answer["Attributes"].values()))


def test_dead_letters_of_all_queues_are_received_and_each_is_deleted_where_it_lay(
    aws_world: AwsWorld, urls: list[str]
) -> None:
    letters = AwsDeadLetters(aws_world.aws, urls)
    received = letters.receive()
    assert [letter.body for letter in received] == ["first", "second"]
    letters.delete(received[1].receipt)
    assert [held_by(aws_world, url) for url in urls] == [1, 0]
    letters.delete(received[0].receipt)
    assert [held_by(aws_world, url) for url in urls] == [0, 0]


def test_a_queue_that_cannot_be_read_keeps_no_letter_of_another_waiting(aws_world: AwsWorld, urls: list[str]) -> None:
    letters = AwsDeadLetters(aws_world.aws, [f"{urls[0]}-gone", *urls])
    received = letters.receive()
    assert [letter.body for letter in received] == ["first", "second"]
    letters.delete(received[1].receipt)
    assert [held_by(aws_world, url) for url in urls] == [1, 0]
    # Nothing else is left: now the fault shows.
    with pytest.raises(Unavailable):
        letters.receive()


def test_a_received_letter_is_hidden_from_others(aws_world: AwsWorld, urls: list[str]) -> None:
    assert len(AwsDeadLetters(aws_world.aws, urls).receive()) == 2
    assert AwsDeadLetters(aws_world.aws, urls).receive() == []


def test_letters_that_nobody_sweeps_are_counted_and_left(aws_world: AwsWorld, urls: list[str]) -> None:
    letters = AwsDeadLetters(aws_world.aws, urls[:1], beside=urls[1:])
    assert letters.beside() == 1
    assert [letter.body for letter in letters.receive()] == ["first"]
    assert (held_by(aws_world, urls[1]), AwsDeadLetters(aws_world.aws, urls).beside()) == (1, 0)
    with pytest.raises(Unavailable):
        AwsDeadLetters(aws_world.aws, urls, beside=[f"{urls[0]}-gone"]).beside()


def test_a_receipt_of_nobody_is_refused(aws_world: AwsWorld, urls: list[str]) -> None:
    with pytest.raises(ValueError):
        AwsDeadLetters(aws_world.aws, urls).delete("unknown")
