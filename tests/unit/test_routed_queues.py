"""Queues by the kind of target: each release goes to its own, and what comes back keeps its place."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.aws.routed_queues import JoinedDeadLetters, RoutedReleases
from clockwork.domain.jobs import KafkaTarget
from clockwork.domain.releases import Release
from clockwork.ports import DeadLetter, Refused
from tests.examples import occurrence, release

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
