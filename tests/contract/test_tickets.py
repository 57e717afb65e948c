"""The contracts of `ports.PoolQueues` and `ports.TicketKeys`, and what releases for pools become on their way there."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from clockwork.aws.stores.ticket_keys import CachedTicketKeys
from clockwork.domain.errors import Unavailable
from clockwork.domain.jobs import PoolTarget, SqsTarget
from clockwork.domain.messages.tickets import opened
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import decode_message
from clockwork.flows.sealing import Tickets
from clockwork.memory.clients import MemoryTicketKeys
from clockwork.memory.clock import MemoryClock
from clockwork.ports import PoolMessage
from clockwork.ports.routing import Routed, by_pool
from tests.contract.worlds import World
from tests.support.examples import NOW, occurrence, release

KEY = "k" * 22


def message(body: str = "{}", *, priority: str = "normal", pool: str = "etl", run_at: int = NOW) -> PoolMessage:
    return PoolMessage(pool, priority, body, run_at, "acme")


def for_pool(priority: str = "normal", pool: str = "etl") -> Release:
    target = PoolTarget(pool, "close_month", priority=priority)  # type: ignore[arg-type]
    return msgspec.structs.replace(release(), occurrence=occurrence(target=target))


def test_messages_go_to_the_queue_of_their_priority(world: World) -> None:
    sent = [message("a"), message("b", priority="high"), message("c")]
    assert list(world.pool_queues.send(sent, NOW)) == []
    assert sorted(body for body, _ in world.receive_tickets("normal")) == ["a", "c"]
    assert [body for body, _ in world.receive_tickets("high")] == ["b"]
    assert list(world.receive_tickets("low")) == []


def test_what_has_no_queue_is_refused_for_good_and_the_others_are_sent(world: World) -> None:
    sent = [message("a", pool="gone"), message("b"), message("c", priority="urgent")]
    refused = world.pool_queues.send(sent, NOW)
    assert [(one.index, one.permanent) for one in refused] == [(0, True), (2, True)]
    assert "no queue of pool gone for the priority normal" in refused[0].reason
    assert [body for body, _ in world.receive_tickets("normal")] == ["b"]


def test_a_message_too_large_is_refused_for_good(world: World) -> None:
    refused = world.pool_queues.send([message("x" * 1_048_577), message("b")], NOW)
    assert [(one.index, one.permanent) for one in refused] == [(0, True)]
    assert [body for body, _ in world.receive_tickets("normal")] == ["b"]


def test_a_message_is_delayed_until_it_is_to_run(world: World) -> None:
    world.pool_queues.send([message("later", run_at=NOW + 60_000), message("now")], NOW)
    assert [body for body, _ in world.receive_tickets("normal")] == ["now"]


def test_what_was_received_is_deleted_by_its_receipt_as_often_as_one_likes(world: World) -> None:
    world.pool_queues.send([message("a"), message("b")], NOW)
    received = dict(world.receive_tickets("normal"))
    for _ in range(2):
        world.pool_queues.delete("etl", "normal", [received["a"], received["b"]])
    with pytest.raises(Unavailable):
        world.pool_queues.delete("gone", "normal", [received["a"]])


def test_what_waits_is_counted_by_priority(world: World) -> None:
    before = world.pool_queues.waiting("etl")
    assert before["normal"] == 0
    world.pool_queues.send([message("a"), message("b")], NOW)
    assert world.pool_queues.waiting("etl") == {**before, "normal": 2}
    world.receive_tickets("normal")
    assert world.pool_queues.waiting("etl") == before
    assert world.pool_queues.waiting("gone") == {}


def test_the_first_key_stays(world: World) -> None:
    assert list(world.ticket_keys.get()) == []
    world.ticket_keys.make(KEY)
    world.ticket_keys.make("another")
    assert list(world.ticket_keys.get()) == [KEY]


def test_keys_are_cached_and_their_absence_is_not() -> None:
    clock, inner = MemoryClock(), MemoryTicketKeys()
    cached = CachedTicketKeys(inner, clock, seconds=300)
    assert list(cached.get()) == []
    cached.make(KEY)
    assert list(cached.get()) == [KEY]
    inner.keys.append("beside")
    clock.advance(299_999)
    assert list(cached.get()) == [KEY]
    clock.advance(1)
    assert list(cached.get()) == [KEY, "beside"]


def routed(world: World) -> Routed:
    return Routed(by_pool(world.releases, Tickets(world.ticket_keys, world.pool_queues)))


def test_what_is_for_a_pool_becomes_a_ticket_and_everything_else_stays_a_release(world: World) -> None:
    world.ticket_keys.make(KEY)
    hook = msgspec.structs.replace(release(), occurrence=occurrence(target=SqsTarget("arn:aws:sqs:eu-central-1:1:q")))
    watch = msgspec.structs.replace(for_pool(), watches=True)
    assert list(routed(world).send([hook, for_pool("high"), watch], NOW)) == []
    ((text, _),) = world.receive_tickets("high")
    ticket = opened(text, [KEY], NOW, "etl")
    assert (ticket.pool, ticket.priority, ticket.sent_at) == ("etl", "high", NOW)
    assert decode_message(ticket.release) == [for_pool("high")]
    assert [one for body in world.receive(2) for one in decode_message(body)] in ([hook, watch], [watch, hook])


def test_without_a_key_nothing_is_sent_to_a_pool_for_now(world: World) -> None:
    refused = routed(world).send([for_pool(), release()], NOW)
    assert [(one.index, one.permanent) for one in refused] == [(0, False)]
    assert list(world.receive_tickets("normal")) == []


def test_keys_that_give_no_answer_refuse_for_now_what_is_for_a_pool() -> None:
    class Out(MemoryTicketKeys):
        def get(self) -> Sequence[str]:
            raise Unavailable("no answer")

    class Queues:
        def send(self, messages: Sequence[PoolMessage], now: int) -> Sequence[object]:
            raise AssertionError(messages, now)

    refused = Tickets(Out(), Queues()).send([for_pool(), for_pool()], NOW)  # type: ignore[arg-type]
    assert [(one.index, one.permanent, one.reason) for one in refused] == [
        (0, False, "no answer"),
        (1, False, "no answer"),
    ]
