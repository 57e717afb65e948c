"""The contract of `ports.Backlog`."""

from __future__ import annotations

from clockwork.aws.queues.backlog import AwsBacklog
from tests.contract.examples import DUE, release
from tests.contract.worlds import AwsWorld, World

NOW = DUE


def test_an_empty_queue_keeps_nobody_waiting(world: World) -> None:
    assert world.backlog.waiting() == 0


def test_what_is_visible_or_in_hand_waits_and_what_is_delayed_does_not(world: World) -> None:
    world.releases.send([release(NOW, b"%d" % n) for n in range(5)], NOW)
    world.releases.send([release(NOW + 300_000, b"later")], NOW)
    assert world.backlog.waiting() == 5
    assert world.receive(2)
    assert world.backlog.waiting() == 5


def test_of_several_queues_the_fullest_counts(aws_world: AwsWorld) -> None:
    other = aws_world.aws.client("sqs").create_queue(QueueName="another")["QueueUrl"]
    aws_world.releases.send([release(NOW, b"%d" % n) for n in range(3)], NOW)
    for urls in ([other, aws_world.queue_url()], [aws_world.queue_url(), other]):
        assert AwsBacklog(aws_world.aws, urls).waiting() == 3
