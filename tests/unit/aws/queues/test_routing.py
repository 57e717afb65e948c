"""Routing of releases to queues by order, kind of target and shard: each refusal names the release that was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from clockwork import bootstrap
from clockwork.domain import keys
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.releases import Release, Travels, queue_of
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Refused, ReleaseQueue
from clockwork.ports.routing import Pick, Routed, by_lane, by_order, by_shard
from clockwork.settings import Settings
from clockwork.targets.http import HttpTarget
from clockwork.targets.kafka.target import KafkaTarget
from tests.support.examples import NOW, occurrence, release


def of_shard(index: int, **changes: object) -> Release:
    """A release of an anonymous job on a shard."""
    place = AnonymousJob(keys.partition_of(index), keys.row_key(NOW, "row"), 0)
    return release(job_id=place.job_id, **changes)


HTTP = release()
KAFKA = release(occurrence=occurrence(target=KafkaTarget("orders")))
QUEUES = "https://sqs.us-east-1.amazonaws.com/123456789012"
INSIDE = HttpTarget("http://10.0.0.7:8080/", private=True)
PRIVATE_ORDERED = release(occurrence=occurrence(target=INSIDE, ordering_key="account-7"))
PRIVATE = release(occurrence=occurrence(target=INSIDE))
ORDERED = release(occurrence=occurrence(ordering_key="account-7"))
KAFKA_ORDERED = release(occurrence=occurrence(target=KafkaTarget("orders"), ordering_key="account-7"))
#: All releases that may follow the first one (retry, sweep, unparking, a fire): they go to the queue of its shard.
FIRST = of_shard(4)
FOLLOWING = (
    FIRST,
    msgspec.structs.replace(FIRST, attempt=2),
    msgspec.structs.replace(FIRST, sweeps=1, travels=Travels(alone=True)),
    msgspec.structs.replace(FIRST, travels=Travels(parkings=1)),
    release(job_id="n", partition_id="p004"),
)


class Queue:
    """A queue that refuses the releases at the given indexes of each send, and keeps the others."""

    def __init__(self, *refuses: int) -> None:
        self.refuses = refuses
        self.sends = 0
        self.taken: list[Release] = []

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        self.sends += 1
        self.taken += [one for place, one in enumerate(releases) if place not in self.refuses]
        return [Refused(place, False, "busy") for place in self.refuses]


def order(*queues: ReleaseQueue) -> Pick:
    return by_order(queues[0], queues[1])


def target(*queues: ReleaseQueue) -> Pick:
    return by_lane(queues[0], {"kafka": queues[1]})


def network(*queues: ReleaseQueue) -> Pick:
    return by_lane(queues[0], {"private": queues[1]})


def shard(*queues: ReleaseQueue) -> Pick:
    return by_shard(queues)


def order_of_targets(*queues: ReleaseQueue) -> Pick:
    return by_order(Routed(target(*queues[:2])), Routed(target(*queues[2:])))


@pytest.mark.parametrize(
    ("by", "sent", "taken"),
    [
        (order, [HTTP, ORDERED, KAFKA], [[HTTP, KAFKA], [ORDERED]]),
        (order, [ORDERED, HTTP], [[HTTP], [ORDERED]]),
        (target, [HTTP, KAFKA, HTTP], [[HTTP, HTTP], [KAFKA]]),
        (target, [HTTP], [[HTTP], []]),
        (target, [KAFKA], [[], [KAFKA]]),
        (network, [HTTP, PRIVATE, KAFKA], [[HTTP, KAFKA], [PRIVATE]]),
        (shard, FOLLOWING, [[], list(FOLLOWING), []]),
        (shard, [of_shard(2), of_shard(0), of_shard(3)], [[of_shard(0), of_shard(3)], [], [of_shard(2)]]),
        (order_of_targets, [KAFKA, ORDERED, KAFKA_ORDERED, HTTP], [[HTTP], [KAFKA], [ORDERED], [KAFKA_ORDERED]]),
    ],
)
def test_each_release_goes_to_its_queue_in_one_send(
    by: Callable[..., Pick], sent: Sequence[Release], taken: list[list[Release]]
) -> None:
    queues = [Queue() for _ in taken]
    assert Routed(by(*queues)).send(sent, 0) == []
    assert [queue.taken for queue in queues] == taken
    assert [queue.sends for queue in queues] == [1 if some else 0 for some in taken]


@pytest.mark.parametrize(
    ("by", "refusing", "sent", "refused"),
    [
        (order, [(0, 1), ()], [ORDERED, HTTP, HTTP], [1, 2]),
        (target, [(1,), (0,)], [HTTP, KAFKA, HTTP], [1, 2]),
        (shard, [(1,), (0,)], [of_shard(index) for index in (0, 1, 2, 3)], [1, 2]),
        (order_of_targets, [(0,), (), (), (0,)], [KAFKA_ORDERED, KAFKA, ORDERED, HTTP], [0, 3]),
    ],
)
def test_a_refusal_names_the_place_among_all_that_were_sent(
    by: Callable[..., Pick], refusing: list[tuple[int, ...]], sent: Sequence[Release], refused: list[int]
) -> None:
    queues = [Queue(*places) for places in refusing]
    assert Routed(by(*queues)).send(sent, 0) == [Refused(index, False, "busy") for index in refused]


@pytest.mark.parametrize(("shards", "queues"), [(16, 1), (16, 2), (16, 3), (1_000, 24)])
def test_shards_are_dealt_evenly(shards: int, queues: int) -> None:
    dealt = Counter(queue_of(partition_id, queues) for partition_id in keys.plain_partitions(shards))
    assert set(dealt) == set(range(queues))
    assert max(dealt.values()) - min(dealt.values()) <= 1


def test_what_waits_in_a_queue_that_gets_nothing_any_more_is_delivered_all_the_same() -> None:
    clockwork = MemoryClockwork()
    given_up = MemoryReleaseQueue(clockwork.clock)
    waiting, later = of_shard(1), of_shard(3)
    Routed(by_shard([clockwork.queue, given_up])).send([waiting], clockwork.clock.now())
    Routed(by_shard([clockwork.queue])).send([later], clockwork.clock.now())
    delivered = []
    for queue in (clockwork.queue, given_up):
        messages = [Message(one.message_id, one.body) for one in queue.receive()]
        assert deliver_batch(clockwork.world, messages, clockwork.clock.now() + 20_000).succeeded == 1
        delivered += [one.job_id for one in clockwork.targets.delivered]
    assert {waiting.job_id, later.job_id} == set(delivered)


def test_further_queues_lie_beside_the_first_under_names_of_the_stack() -> None:
    beside = "https://sqs.us-east-1.amazonaws.com/123456789012/Clockwork-"
    one = Settings(stack_name="Clockwork", release_queue_url=f"{beside}QueuesRelease8A-x")
    assert one.release_queue_urls == [one.release_queue_url]
    further = [f"{beside}Release-1", f"{beside}Release-2"]
    assert one.with_(release_queues=3).release_queue_urls == [one.release_queue_url, *further]


@pytest.mark.parametrize(
    ("one", "queue"),
    [
        (HTTP, "Release"),
        (PRIVATE, "Clockwork-PrivateRelease"),
        (ORDERED, "OrderedRelease.fifo"),
        (PRIVATE_ORDERED, "Clockwork-PrivateOrderedRelease.fifo"),
        (KAFKA, "KafkaRelease"),
        (KAFKA_ORDERED, "KafkaOrderedRelease.fifo"),
    ],
)
def test_every_kind_of_release_has_one_queue(monkeypatch: pytest.MonkeyPatch, one: Release, queue: str) -> None:
    sent: Counter[str] = Counter()

    class Adapter(Queue):
        def __init__(self, _: object, url: str, **__: object) -> None:
            super().__init__()
            self.url = url

        def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
            sent[self.url] += len(releases)
            return super().send(releases, now)

    monkeypatch.setattr("clockwork.aws.queues.release_queue.AwsReleaseQueue", Adapter)
    monkeypatch.setattr("clockwork.aws.queues.ordered_queue.AwsOrderedQueue", Adapter)
    settings = Settings.for_account().with_(
        has_network=True,
        release_queue_url=f"{QUEUES}/Release",
        ordered_release_queue_url=f"{QUEUES}/OrderedRelease.fifo",
        kafka_release_queue_url=f"{QUEUES}/KafkaRelease",
        kafka_ordered_release_queue_url=f"{QUEUES}/KafkaOrderedRelease.fifo",
    )
    assert bootstrap._releases(None, settings).send([one], 0) == []
    assert sent == {f"{QUEUES}/{queue}": 1}


def test_the_deliverer_in_the_network_hides_messages_of_its_own_ordered_queue() -> None:
    settings = Settings.for_account().with_(
        has_network=True,
        release_queue_url=f"{QUEUES}/Release",
        ordered_release_queue_url=f"{QUEUES}/OrderedRelease.fifo",
    )
    aws: Any = SimpleNamespace(plane=lambda *_: None)
    urls = [vars(bootstrap._visibility(aws, settings.with_(in_network=inside)))["_url"] for inside in (False, True)]
    assert urls == [settings.ordered_release_queue_url, f"{QUEUES}/Clockwork-PrivateOrderedRelease.fifo"]
