"""Blocks of permits: when one is asked for, which one, how long who finds none waits, and when it is given back."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from clockwork.domain.clients import Client
from clockwork.domain.executions import Outcome, State
from clockwork.domain.limits.concurrency import NONE_FREE_FOR_MS, SLOW_FOR_MS, SLOW_MS, Blocks
from clockwork.domain.limits.sharing import FULL_BATCH
from clockwork.domain.releases import Deliver
from clockwork.domain.waits import Held
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.concurrency import (
    BLOCKS_TRIED,
    SENT_WITHIN_MS,
    _candidates,
    _lease,
    blocks_of,
    give_back_all,
    note_company,
    note_ended,
    within_concurrency,
)
from clockwork.flows.deliver.items import Item
from clockwork.flows.deliver.waiting import Resent
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import ACME, NOW, occurrence, release, release_in

CAPPED = msgspec.structs.replace(ACME, max_concurrency=2)


def batch_of(clockwork: MemoryClockwork) -> Batch:
    return Batch(clockwork.world, clockwork.clock.at + 60_000, Resent(clockwork.world))


def items(count: int, client_id: str = "acme", **changes: int) -> list[Item]:
    due = [occurrence(client_id=client_id, due_at=NOW + number) for number in range(count)]
    return [Item(f"{client_id}{n}", release(occurrence=one, **changes)) for n, one in enumerate(due)]


def took(ms: int) -> Outcome:
    return Outcome(State.SUCCEEDED, NOW, NOW + ms)


def admitted(batch: Batch, client: Client, some: Sequence[Item]) -> list[Item]:
    return within_concurrency(batch, client, blocks_of(batch.world, client.client_id, client), some)


def sent(clockwork: MemoryClockwork) -> Sequence[Deliver]:
    return [release_in(message.body) for message in clockwork.queue.messages.values()]


def test_as_many_go_as_have_permits_and_the_others_come_again_together_after_whole_seconds() -> None:
    clockwork = MemoryClockwork()
    batch, some = batch_of(clockwork), items(4, permits=3)
    assert admitted(batch, CAPPED, some) == some[:2]
    assert batch.report.deferred == 2
    assert [item.left for item in some] == [False, False, True, True]
    later = sent(clockwork)
    (run_at,) = {one.run_at for one in later}
    assert (run_at - clockwork.clock.at - SENT_WITHIN_MS) % 1_000 == 0
    assert 1_500 <= run_at - clockwork.clock.at <= 3_600
    assert {(one.waits.permits, one.waits.held) for one in later} == {
        (4, Held("permit", NOW + 2)),
        (4, Held("permit", NOW + 3)),
    }


def test_those_that_all_go_leave_nobody_behind_and_a_client_without_a_limit_asks_for_nothing() -> None:
    clockwork = MemoryClockwork()
    some = items(2)
    assert admitted(batch_of(clockwork), CAPPED, some) == some
    assert admitted(batch_of(clockwork), ACME, some) == some
    assert not clockwork.queue.messages


def test_who_finds_no_block_free_asks_for_none_for_a_moment() -> None:
    clockwork = MemoryClockwork()
    now = clockwork.clock.at
    assert clockwork.regulation.lease("acme", 0, "another", now, now + 60_000)
    asked: list[int] = []
    lease = clockwork.regulation.lease

    def counting(client_id: str, block: int, holder: str, at: int, until: int) -> bool:
        asked.append(block)
        return lease(client_id, block, holder, at, until)

    clockwork.regulation.lease = counting  # type: ignore[method-assign, assignment]
    batch = batch_of(clockwork)
    for after_ms, asks in ((0, 1), (NONE_FREE_FOR_MS - 1, 1), (NONE_FREE_FOR_MS, 2)):
        assert _lease(batch, "acme", Blocks(1, 2), now + after_ms) is None
        assert len(asked) == asks


def test_only_so_many_blocks_are_tried_and_none_that_is_known_to_be_taken() -> None:
    clockwork = MemoryClockwork()
    now, tried = clockwork.clock.at, list[int]()
    for number in range(0, 20, 2):
        assert clockwork.regulation.lease("acme", number, "another", now, now + 60_000)

    def refusing(_client_id: str, block: int, *_: object) -> bool:
        tried.append(block)
        return False

    clockwork.regulation.lease = refusing  # type: ignore[method-assign, assignment]
    assert _lease(batch_of(clockwork), "acme", Blocks(20, 2), now) is None
    assert len(tried) == len(set(tried)) == BLOCKS_TRIED
    assert all(number % 2 for number in tried[1:])
    rest = list(_candidates(clockwork.world, "acme", 20, now))
    assert sorted({*rest[1:], *(n for n in rest[:1] if n % 2)}) == list(range(1, 20, 2))


def test_an_environment_tries_the_block_first_that_it_gave_back_last_unless_there_are_fewer_now() -> None:
    clockwork = MemoryClockwork()
    for last, count, expected in ((7, 9, 7), (7, 8, 7), (7, 7, None), (0, 1, 0)):
        clockwork.world.environment.last_block["acme"] = last
        first = next(_candidates(clockwork.world, "acme", count, NOW))
        assert first < count
        assert expected is None or first == expected
        assert "acme" not in clockwork.world.environment.last_block


def test_a_block_is_given_back_once_its_last_delivery_has_ended() -> None:
    clockwork = MemoryClockwork()
    batch, some = batch_of(clockwork), items(2)
    assert admitted(batch, CAPPED, some) == some
    note_ended(batch, [(some[0], took(1))])
    assert clockwork.regulation.taken("acme", clockwork.clock.at) == {0}
    note_ended(batch, [(some[1], took(1))])
    assert not clockwork.regulation.taken("acme", clockwork.clock.at)
    assert clockwork.world.environment.last_block == {"acme": 0}
    assert admitted(batch, CAPPED, some) == some
    give_back_all(batch)
    assert not clockwork.regulation.taken("acme", clockwork.clock.at)
    assert not batch.leased


@pytest.mark.parametrize(("ms", "is_slow"), [(SLOW_MS - 1, False), (SLOW_MS, True)])
def test_a_client_whose_target_is_slow_shares_for_a_minute_where_others_were_met(ms: int, is_slow: bool) -> None:
    clockwork = MemoryClockwork()
    (item,) = items(1)
    note_company(clockwork.world, [item, *items(1, "globex")])
    note_ended(batch_of(clockwork), [(item, took(ms))])
    assert (blocks_of(clockwork.world, "acme", None) is not None) is is_slow
    clockwork.clock.advance(SLOW_FOR_MS - 1)
    assert (blocks_of(clockwork.world, "acme", None) is not None) is is_slow
    clockwork.clock.advance(1)
    assert blocks_of(clockwork.world, "acme", None) is None


def test_a_client_shares_where_it_crowds_others_and_not_alone() -> None:
    clockwork = MemoryClockwork()
    note_company(clockwork.world, items(FULL_BATCH))
    assert blocks_of(clockwork.world, "acme", None) is None
    note_company(clockwork.world, items(1, "globex"))
    share = clockwork.settings.deliverer_concurrency * 3 // 4
    assert blocks_of(clockwork.world, "acme", None) == Blocks(share, None)
    assert blocks_of(clockwork.world, "globex", None) is None
    # Who has waited for a permit crowds, however small its batch is.
    note_company(clockwork.world, items(1, "globex", permits=1))
    assert (
        blocks_of(clockwork.world, "globex", None)
        == blocks_of(clockwork.world, "acme", None)
        == Blocks(max(1, share // 2), None)
    )
