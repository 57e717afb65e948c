"""The contract of `ports.ReleaseQueue`."""

from __future__ import annotations

import time

import pytest

from clockwork.aws.queues.release_queue import AwsReleaseQueue
from clockwork.domain.jobs import Occurrence
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.storage.codec import encode_release
from clockwork.memory.clock import MemoryClock
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.ports import ReleaseQueue
from tests.contract.examples import DAY, DUE, release
from tests.contract.faults import Wire, broken
from tests.contract.worlds import AwsWorld, World
from tests.support.examples import release_in

NOW = DUE


@pytest.fixture
def releases(world: World) -> ReleaseQueue:
    return world.releases


def bodies_of(world: World, count: int) -> list[bytes]:
    """The payloads that came through the queue, sorted."""
    received = [release_in(body).occurrence for body in world.receive(count)]
    return sorted(occurrence.payload.body for occurrence in received if isinstance(occurrence, Occurrence))


def test_a_release_arrives_whole(releases: ReleaseQueue, world: World) -> None:
    sent = release(NOW, bytes(range(32)))
    assert list(releases.send([sent], NOW)) == []
    assert [release_in(body) for body in world.receive(1)] == [sent]


@pytest.mark.parametrize("count", [0, 10, 11, 25])
def test_all_releases_of_a_send_arrive(releases: ReleaseQueue, world: World, count: int) -> None:
    payloads = [b"%03d" % n for n in range(count)]
    assert list(releases.send([release(NOW, payload) for payload in payloads], NOW)) == []
    assert bodies_of(world, count) == payloads


def test_large_releases_are_spread_over_as_many_calls_as_they_need(releases: ReleaseQueue, world: World) -> None:
    payloads = [b"%d" % n + b"x" * 262_000 for n in range(7)]
    assert list(releases.send([release(NOW, payload) for payload in payloads], NOW)) == []
    assert bodies_of(world, 7) == payloads


def test_a_release_that_no_message_can_hold_is_refused_for_good_and_alone(releases: ReleaseQueue, world: World) -> None:
    sent = [release(NOW, b"1"), release(NOW, b"x" * 1_048_576), release(NOW, b"3")]
    (refused,) = releases.send(sent, NOW)
    assert (refused.index, refused.permanent) == (1, True)
    assert str(len(encode_release(sent[1]))) in refused.reason
    assert bodies_of(world, 3) == [b"1", b"3"]


@pytest.mark.parametrize("run_at", [NOW + 999, NOW, NOW - DAY])
def test_what_is_due_within_a_second_can_be_received_at_once(releases: ReleaseQueue, world: World, run_at: int) -> None:
    releases.send([release(run_at)], NOW)
    assert world.delayed() == 0
    assert bodies_of(world, 1) == [b'{"order":1}']


@pytest.mark.parametrize("run_at", [NOW + 5_000, NOW + 900_000, NOW + 30 * DAY])
def test_what_is_due_later_waits_in_the_queue(releases: ReleaseQueue, world: World, run_at: int) -> None:
    assert list(releases.send([release(run_at)], NOW)) == []
    assert world.delayed() == 1
    assert bodies_of(world, 1) == []


def test_a_delay_is_what_is_left_when_the_message_is_really_sent(aws_world: AwsWorld) -> None:
    """Whole seconds, rounded down: what 400 ms of sending other batches leave of 100.3 s is 99 s."""
    moments = iter([50.0, 50.4])
    delays: list[int] = []
    aws_world.aws.client("sqs", attempts=1).meta.events.register(
        "before-parameter-build.sqs.SendMessageBatch",
        lambda params, **_: delays.extend(entry["DelaySeconds"] for entry in params["Entries"]),
    )
    queue = AwsReleaseQueue(aws_world.aws, aws_world.queue_url(), elapsed_seconds=lambda: next(moments))
    assert list(queue.send([release(NOW + 100_300)], NOW)) == []
    assert delays == [99]


def test_an_aligned_delay_counts_from_its_instant_however_long_the_sends_take_and_a_repeat_from_the_clock(
    emulated: AwsWorld,
) -> None:
    """Due in 100 s and the margin, sent 7 ms after its instant: 100 s, where the clock would give 99."""
    moments = iter([50.0, 50.4, 50.9])
    delays: list[int] = []
    emulated.aws.client("sqs", attempts=1).meta.events.register(
        "before-parameter-build.sqs.SendMessageBatch",
        lambda params, **_: delays.extend(entry["DelaySeconds"] for entry in params["Entries"]),
    )
    wire = Wire(emulated.aws.client("sqs", attempts=1), "SendMessageBatch", [broken])
    queue = AwsReleaseQueue(emulated.aws, emulated.queue_url(), elapsed_seconds=lambda: next(moments))
    assert list(queue.send([release(NOW + 100_150)], NOW + 7, Aligned(NOW, 150))) == []
    assert (wire.sent, delays) == (2, [100, 99])


@pytest.mark.parametrize(
    ("left_ms", "tolerance_ms", "delay"),
    [
        (29_985, 100, 30),
        (29_900, 100, 30),
        (29_899, 100, 29),
        (29_985, 0, 29),
        (30_000, 100, 30),
        (30_050, 100, 30),
        (-1, 100, 0),
        (899_950, 100, 900),
        (5_000_000, 100, 900),
    ],
)
def test_a_delay_is_rounded_up_where_that_makes_a_message_late_by_little(
    aws_world: AwsWorld, left_ms: int, tolerance_ms: int, delay: int
) -> None:
    """A job with `delaySeconds: 30` that is sent 15 ms after its create is not held for 985 ms."""
    delays: list[int] = []
    aws_world.aws.client("sqs", attempts=1).meta.events.register(
        "before-parameter-build.sqs.SendMessageBatch",
        lambda params, **_: delays.extend(entry["DelaySeconds"] for entry in params["Entries"]),
    )
    url = aws_world.queue_url()
    queue = AwsReleaseQueue(aws_world.aws, url, late_tolerance_ms=tolerance_ms, elapsed_seconds=lambda: 50.0)
    assert list(queue.send([release(NOW + left_ms)], NOW)) == []
    assert delays == [delay]
    clock = MemoryClock(NOW)
    in_memory = MemoryReleaseQueue(clock, late_tolerance_ms=tolerance_ms)
    in_memory.send([release(NOW + left_ms)], NOW)
    assert in_memory.next_visible_at() == NOW + delay * 1_000


def test_an_aligned_release_comes_the_margin_before_it_is_due(releases: ReleaseQueue, world: World) -> None:
    aligned = Aligned(NOW, 150)
    assert list(releases.send([release(NOW + 1_149, b"1"), release(NOW + 1_150, b"2")], NOW, aligned)) == []
    assert world.delayed() == 1
    assert bodies_of(world, 1) == [b"1"]


def test_a_message_tells_its_delay_unless_it_has_none_or_is_long(emulated: AwsWorld) -> None:
    sent = [release(NOW + 1_000, b"1"), release(NOW, b"2"), release(NOW + 1_000, b"x" * 600_000)]
    AwsReleaseQueue(emulated.aws, emulated.queue_url(), elapsed_seconds=lambda: 50.0).send(sent, NOW)
    time.sleep(1.2)
    answer = emulated.aws.client("sqs").receive_message(
        QueueUrl=emulated.queue_url(), MaxNumberOfMessages=10, MessageAttributeNames=["All"]
    )
    told = {
        release_in(message["Body"]).occurrence.payload.body[:1]: message.get("MessageAttributes", {})
        for message in answer["Messages"]
    }
    assert {body: {name: one["StringValue"] for name, one in some.items()} for body, some in told.items()} == {
        b"1": {"delay": "1"},
        b"2": {},
        b"x": {},
    }


def test_messages_of_one_client_are_one_group_in_a_fair_queue_and_starve_no_other(
    emulated: AwsWorld,
) -> None:
    AwsReleaseQueue(emulated.aws, emulated.queue_url(), fair=True).send([release(NOW)], NOW)
    answer = emulated.aws.client("sqs").receive_message(
        QueueUrl=emulated.queue_url(), MessageSystemAttributeNames=["MessageGroupId"]
    )
    assert answer["Messages"][0]["Attributes"]["MessageGroupId"] == "acme"
