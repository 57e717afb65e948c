"""Queues by the kind of target and by shard: each release goes to its own, and what comes back keeps its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
import pytest

from clockwork.aws.queues.routing import DealtByShard, JoinedDeadLetters, RoutedReleases
from clockwork.domain import keys
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.jobs import KafkaTarget
from clockwork.domain.releases import Release, queue_of
from clockwork.flows.deliver.bundles import Message
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.memory.release_queue import MemoryReleaseQueue
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import DeadLetter, Refused
from clockwork.settings import Settings
from tests.support.examples import NOW, occurrence, release

HTTP = release()
KAFKA = release(occurrence=occurrence(target=KafkaTarget("orders")))


class Queue:
    """Refuses the releases at some places, and notes the others."""

    def __init__(self, *refuses: int) -> None:
        self.refuses = refuses
        self.taken: list[Release] = []

    def send(self, releases: Sequence[Release], now: int) -> Sequence[Refused]:
        self.taken += [one for place, one in enumerate(releases) if place not in self.refuses]
        return [Refused(place, False, "busy") for place in self.refuses]


class Letters:
    """A dead-letter queue with some letters."""

    def __init__(self, *receipts: str) -> None:
        self.receipts = list(receipts)

    def receive(self) -> Sequence[DeadLetter]:
        return [DeadLetter(receipt, f"body of {receipt}") for receipt in self.receipts]

    def delete(self, receipt: str) -> None:
        self.receipts.remove(receipt)


def test_what_is_bound_for_kafka_has_a_queue_of_its_own() -> None:
    others, kafka = Queue(), Queue()
    assert RoutedReleases(others, {KafkaTarget: kafka}).send([HTTP, KAFKA, HTTP], 0) == []
    assert (others.taken, kafka.taken) == ([HTTP, HTTP], [KAFKA])


def test_a_refusal_names_the_place_among_all_that_were_sent() -> None:
    queue = RoutedReleases(Queue(1), {KafkaTarget: Queue(0)})
    refused = queue.send([HTTP, KAFKA, HTTP], 0)
    assert [refusal.index for refusal in refused] == [1, 2]


def test_a_queue_that_has_nothing_to_send_is_not_asked() -> None:
    others, kafka = Queue(), Queue(0)
    assert RoutedReleases(others, {KafkaTarget: kafka}).send([HTTP], 0) == []
    assert kafka.taken == []


def of_shard(index: int, **changes: object) -> Release:
    """A release of an anonymous job on a shard."""
    place = AnonymousJob(keys.partition_of(index), keys.row_key(NOW, "row"), 0)
    return release(job_id=place.job_id, **changes)


@pytest.mark.parametrize(("shards", "queues"), [(16, 1), (16, 2), (16, 3), (1_000, 24)])
def test_shards_are_dealt_evenly(shards: int, queues: int) -> None:
    dealt = Counter(queue_of(partition_id, queues) for partition_id in keys.plain_partitions(shards))
    assert set(dealt) == set(range(queues))
    assert max(dealt.values()) - min(dealt.values()) <= 1


def test_all_that_follows_a_release_goes_to_the_queue_of_its_shard() -> None:
    queues = [Queue(), Queue(), Queue()]
    first = of_shard(4)
    retry = msgspec.structs.replace(first, attempt=2)
    swept = msgspec.structs.replace(first, sweeps=1, alone=True)
    let_go = msgspec.structs.replace(first, parkings=1)
    named = release(job_id="n", partition_id="p004", version="v")
    following = [first, retry, swept, let_go, named]
    assert DealtByShard(queues).send(following, 0) == []
    assert [queue.taken for queue in queues] == [[], following, []]


def test_a_refusal_names_the_place_among_those_of_all_shards() -> None:
    refused = DealtByShard([Queue(1), Queue(0)]).send([of_shard(index) for index in (0, 1, 2, 3)], 0)
    assert [refusal.index for refusal in refused] == [1, 2]


def test_what_waits_in_a_queue_that_gets_nothing_any_more_is_delivered_all_the_same() -> None:
    clockwork = MemoryClockwork()
    given_up = MemoryReleaseQueue(clockwork.clock)
    waiting, later = of_shard(1), of_shard(3)
    DealtByShard([clockwork.queue, given_up]).send([waiting], clockwork.clock.now())
    DealtByShard([clockwork.queue]).send([later], clockwork.clock.now())
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


def test_dead_letters_of_all_queues_are_received_and_each_is_deleted_where_it_lay() -> None:
    first, second = Letters("a b", "c"), Letters("a b")
    joined = JoinedDeadLetters([first, second])
    letters = joined.receive()
    assert [letter.body for letter in letters] == ["body of a b", "body of c", "body of a b"]
    joined.delete(letters[2].receipt)
    assert (first.receipts, second.receipts) == (["a b", "c"], [])


def test_a_receipt_of_nobody_is_refused() -> None:
    with pytest.raises(ValueError):
        JoinedDeadLetters([Letters()]).delete("unknown")
