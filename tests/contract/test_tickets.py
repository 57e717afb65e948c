"""The contracts of `ports.PoolQueues` and `ports.TicketKeys`, and what releases for pools become on their way there."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from clockwork.aws.stores.ticket_keys import CachedTicketKeys
from clockwork.domain.errors import Unavailable
from clockwork.domain.keys import BEGINNING, END
from clockwork.domain.messages.tickets import opened
from clockwork.domain.pools.floods import Overflow
from clockwork.domain.pools.shares import MOST_FIRST, Shares
from clockwork.domain.releases import Check, Deliver, Release
from clockwork.domain.storage.checks import check_of
from clockwork.domain.storage.codec import decode_message, decode_row, decode_ticket
from clockwork.domain.timeline import Row, ShardStatus
from clockwork.flows.sealing import Checks, Tickets
from clockwork.memory.clients import MemoryTicketKeys
from clockwork.memory.clock import MemoryClock
from clockwork.ports import PoolMessage
from clockwork.ports.routing import Routed, by_pool
from clockwork.targets.pool import PoolTarget
from clockwork.targets.sqs import SqsTarget
from tests.contract.worlds import World
from tests.support.examples import NOW, occurrence, release, watch_like

KEY = "k" * 22
CHECK_MS = 3 * 86_400_000
ROWS_MS = 3 * 86_400_000


def message(body: str = "{}", *, queue: str = "normal", pool: str = "etl", run_at: int = NOW) -> PoolMessage:
    return PoolMessage(pool, queue, body, run_at, "acme")


def for_pool(priority: str = "normal", pool: str = "etl") -> Release:
    target = PoolTarget(pool, "close_month", priority=priority)  # type: ignore[arg-type]
    return msgspec.structs.replace(release(), occurrence=occurrence(target=target))


def test_messages_go_to_the_queue_of_their_priority(world: World) -> None:
    sent = [message("a"), message("b", queue="high"), message("c")]
    assert list(world.pool_queues.send(sent, NOW)) == []
    assert sorted(body for body, _ in world.receive_tickets("normal")) == ["a", "c"]
    assert [body for body, _ in world.receive_tickets("high")] == ["b"]
    assert list(world.receive_tickets("low")) == []


def test_the_overflow_of_a_priority_has_a_queue_of_its_own(world: World) -> None:
    sent = [message("a"), message("b", queue="normal-overflow"), message("c", queue="high-overflow")]
    assert list(world.pool_queues.send(sent, NOW)) == []
    assert [body for body, _ in world.receive_tickets("normal")] == ["a"]
    ((body, receipt),) = world.receive_tickets("normal-overflow")
    assert body == "b"
    assert list(world.pool_queues.hold("etl", "normal-overflow", [receipt], 0)) == [True]
    ((_, receipt),) = world.receive_tickets("normal-overflow")
    world.pool_queues.delete("etl", "normal-overflow", [receipt])
    assert world.pool_queues.waiting("etl")["normal-overflow"] == (0, 0)
    assert world.pool_queues.waiting("etl")["high-overflow"] == (1, 0)


def test_what_has_no_queue_is_refused_for_good_and_the_others_are_sent(world: World) -> None:
    sent = [message("a", pool="gone"), message("b"), message("c", queue="urgent")]
    refused = world.pool_queues.send(sent, NOW)
    assert [(one.index, one.permanent) for one in refused] == [(0, True), (2, True)]
    assert "no queue of pool gone called normal" in refused[0].reason
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


def test_only_a_message_in_hand_is_held(world: World) -> None:
    world.pool_queues.send([message("a"), message("b"), message("c", queue="low")], NOW)
    received = dict(world.receive_tickets("normal"))
    world.pool_queues.delete("etl", "normal", [received["b"]])
    asked = [received["a"], received["b"], "no receipt"]
    assert list(world.pool_queues.hold("etl", "normal", asked, 60)) == [True, False, False]
    assert list(world.pool_queues.hold("etl", "normal", [received["a"]] * 11, 60)) == [True] * 11
    assert list(world.pool_queues.hold("etl", "normal", [], 60)) == []
    with pytest.raises(Unavailable):
        world.pool_queues.hold("gone", "normal", [received["a"]], 60)


def test_what_waits_is_counted_by_priority(world: World) -> None:
    before = world.pool_queues.waiting("etl")
    assert before["normal"] == (0, 0)
    later = msgspec.structs.replace(message("c"), run_at=NOW + 600_000)
    world.pool_queues.send([message("a"), message("b"), later], NOW)
    assert world.pool_queues.waiting("etl") == {**before, "normal": (2, 1)}
    world.receive_tickets("normal")
    assert world.pool_queues.waiting("etl") == {**before, "normal": (0, 1)}
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
    checks = Checks(world.timeline, world.shards, CHECK_MS, ROWS_MS)
    return Routed(by_pool(world.releases, Tickets(world.ticket_keys, world.pool_queues, checks, world.pools, Shares())))


def test_of_many_tickets_at_once_the_most_lie_in_the_overflow_queue(world: World) -> None:
    world.ticket_keys.make(KEY)
    world.pools.note_overflow("etl", Overflow(NOW - 1_000))
    sent = [for_pool().of_its(revision=number) for number in range(MOST_FIRST + 3)]
    assert list(routed(world).send(sent, NOW)) == []
    counts = {queue: count.ready for queue, count in world.pool_queues.waiting("etl").items() if count.ready}
    assert counts == {"normal": MOST_FIRST, "normal-overflow": 3}
    for body, _ in world.receive_tickets("normal-overflow"):
        ticket = opened(body, [KEY], NOW, "etl")
        carried = decode_ticket(ticket.release)
        assert (ticket.priority, carried.spilled) == ("normal", True)


def checks_of(world: World) -> list[Release]:
    rows = world.timeline.read("p000", BEGINNING, END, 100).rows
    return [one for row in rows for one in decode_row(row.blob).values() if isinstance(one, Release)]


def test_what_is_for_a_pool_becomes_a_ticket_and_everything_else_stays_a_release(world: World) -> None:
    world.ticket_keys.make(KEY)
    hook = msgspec.structs.replace(release(), occurrence=occurrence(target=SqsTarget("arn:aws:sqs:eu-central-1:1:q")))
    watch = watch_like(for_pool())
    assert list(routed(world).send([hook, for_pool("high"), watch], NOW)) == []
    ((text, _),) = world.receive_tickets("high")
    ticket = opened(text, [KEY], NOW, "etl")
    assert (ticket.pool, ticket.priority, ticket.sent_at) == ("etl", "high", NOW)
    checked = msgspec.structs.replace(for_pool("high"), checked=True)
    assert decode_message(ticket.release) == [checked]
    (check,) = checks_of(world)
    assert isinstance(check, Check)
    assert check == check_of(for_pool("high"), 1, check.run_at)
    assert NOW + CHECK_MS - 7_200_000 < check.run_at <= NOW + CHECK_MS
    shard = world.shards.get(["p000"])["p000"]
    assert shard.status is ShardStatus.USED


def test_what_is_sent_anew_puts_no_other_check(world: World) -> None:
    world.ticket_keys.make(KEY)
    going = msgspec.structs.replace(for_pool(), checked=True)
    assert list(routed(world).send([going], NOW)) == []
    assert checks_of(world) == []
    assert list(routed(world).send([going, for_pool(), for_pool("low")], NOW + 1)) == []
    assert len(checks_of(world)) == 2
    assert len(world.timeline.read("p000", BEGINNING, END, 100).rows) == 1
    texts = [text for priority in ("normal", "low") for text, _ in world.receive_tickets(priority)]
    sent = [one for text in texts for one in decode_message(opened(text, [KEY], NOW).release)]
    assert [isinstance(one, Deliver) and one.checked for one in sent] == [True] * 4


def test_a_check_is_for_our_own_deliverers(world: World) -> None:
    check = check_of(for_pool(), 1, for_pool().run_at)
    assert list(routed(world).send([check], NOW)) == []
    assert [one for body in world.receive(1) for one in decode_message(body)] == [check]


def test_a_check_that_is_not_certain_refuses_its_ticket_for_now(world: World) -> None:
    class Out:
        def put_new(self, rows: Sequence[Row]) -> None:
            raise Unavailable(f"{len(rows)} rows were not put")

    world.ticket_keys.make(KEY)
    checks = Checks(Out(), world.shards, CHECK_MS, ROWS_MS)  # type: ignore[arg-type]
    refused = Tickets(world.ticket_keys, world.pool_queues, checks, world.pools, Shares()).send([for_pool()], NOW)
    assert [(one.permanent, one.reason) for one in refused] == [(False, "1 rows were not put")]
    assert list(world.receive_tickets("normal")) == []


def test_a_shard_that_has_left_is_taken_back_for_a_check(world: World) -> None:
    world.ticket_keys.make(KEY)
    world.shards.register("p000", ShardStatus.LEFT)
    routed(world).send([for_pool()], NOW)
    assert world.shards.get(["p000"])["p000"].status is ShardStatus.USED


def test_what_is_for_others_stays_with_them(world: World) -> None:
    world.ticket_keys.make(KEY)
    hook = msgspec.structs.replace(release(), occurrence=occurrence(target=SqsTarget("arn:aws:sqs:eu-central-1:1:q")))
    watch = watch_like(for_pool())
    routed(world).send([hook, watch], NOW)
    assert checks_of(world) == []
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

    checks = Checks(Queues(), Queues(), CHECK_MS, ROWS_MS)  # type: ignore[arg-type]
    refused = Tickets(Out(), Queues(), checks, Queues(), Shares()).send([for_pool(), for_pool()], NOW)  # type: ignore[arg-type]
    assert [(one.index, one.permanent, one.reason) for one in refused] == [
        (0, False, "no answer"),
        (1, False, "no answer"),
    ]
