"""Waiting in the ordered queue: the head of a key that is not done becomes visible again at its time."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.lifecycle.parking import LONGEST_PARKING_MS, NOTED_MS, host_prefix, parking_of
from clockwork.domain.ordering import patience
from clockwork.domain.releases import LONGEST_DELAY_SECONDS, Deliver, Of, Refused
from clockwork.domain.requests.create import occurrence_of
from clockwork.domain.timeline import Row
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.items import Item
from clockwork.flows.deliver.waiting import FAILED_AGAIN_MS, LOOK_AGAIN_MS, InPlace, Resent
from clockwork.flows.timeline.retries import send_retries
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.support.examples import ACME, NOW, new_job, release


def _batch_of(count: int, receive_count: int = 1) -> tuple[Batch, InPlace, list[Item]]:
    clockwork = MemoryClockwork()
    occurrence = occurrence_of(new_job(delay_ms=0), ACME, clockwork.clock.at)
    items = [Item(str(n), Deliver(Of(f"job {n}"), occurrence, occurrence.due_at)) for n in range(count)]
    receive_counts = {item.message_id: receive_count for item in items}
    waiting = InPlace(clockwork.world, receive_counts)
    return Batch(clockwork.world, clockwork.clock.at + 60_000, waiting), waiting, items


def test_what_failed_comes_again_a_little_later() -> None:
    batch, waiting, (item,) = _batch_of(1)
    batch.fail(item, "a table does not answer")
    assert waiting.back_at == {"0": batch.world.clock.now() + FAILED_AGAIN_MS}
    assert batch.report.failed_messages == ["0"]


def test_what_waits_for_its_time_and_then_fails_keeps_its_time() -> None:
    batch, waiting, (item,) = _batch_of(1)
    batch.send_back([item])
    batch.fail(item, "a table does not answer")
    assert waiting.back_at == {"0": item.release.run_at}


def test_what_is_held_back_looks_again_after_a_minute() -> None:
    batch, waiting, items = _batch_of(2)
    assert not waiting.held(items)
    assert waiting.back_at == dict.fromkeys(("0", "1"), batch.world.clock.now() + LOOK_AGAIN_MS)
    assert batch.report.parked == 2


@pytest.mark.parametrize(("receive_count", "times"), [(1, 1), (25, 1), (26, 2), (51, 3), (1_000, 40)])
def test_what_was_received_often_waits_longer_for_its_next_look(receive_count: int, times: int) -> None:
    batch, waiting, (held, failed) = _batch_of(2, receive_count)
    waiting.held([held])
    batch.fail(failed, "a table does not answer")
    now = batch.world.clock.now()
    assert waiting.back_at == {"0": now + times * LOOK_AGAIN_MS, "1": now + times * FAILED_AGAIN_MS}


def test_looks_at_a_pause_last_for_as_long_as_a_message_is_kept() -> None:
    looks = Settings.for_account().ordered_max_receive_count
    kept_seconds = 14 * 86_400
    assert sum(LOOK_AGAIN_MS * patience(count) for count in range(1, looks + 1)) > kept_seconds * 1_000


@pytest.mark.parametrize(("beyond_ms", "sent"), [(0, 1), (1, 0)])
def test_a_retry_that_is_further_away_than_a_queue_delays_waits_on_the_timeline(beyond_ms: int, sent: int) -> None:
    clockwork = MemoryClockwork()
    clockwork.shards.register("p000")
    again = release(attempt=2, run_at=clockwork.clock.at + LONGEST_DELAY_SECONDS * 1000 + beyond_ms)
    assert send_retries(clockwork.world, [again]) == {}
    assert (len(clockwork.queue.messages), len(clockwork.timeline._rows.get("p000", {}))) == (sent, 1 - sent)


def test_of_several_retries_each_that_may_not_come_is_named_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()
    now = clockwork.clock.at
    far = release(attempt=2, run_at=now + 10**7)
    near = [release(attempt=2, run_at=now + n) for n in range(3)]
    monkeypatch.setattr(clockwork.queue, "send", lambda *_: [Refused(1, False, "full")])

    def unavailable(_: object) -> None:
        raise Unavailable("throttled")

    monkeypatch.setattr(clockwork.timeline, "put_new", unavailable)
    assert send_retries(clockwork.world, [near[0], far, near[1], near[2]]) == {1: "throttled", 2: "full"}


def test_a_note_of_parked_work_is_written_once_in_so_long_and_again_if_the_rows_took_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = MemoryClockwork()
    noted: list[int] = []
    monkeypatch.setattr(clockwork.regulation, "note_parked", lambda _, at: noted.append(at - NOW))
    waiting = Resent(clockwork.world)
    for at in (0, NOTED_MS - 1, NOTED_MS):
        clockwork.clock.at = NOW + at
        assert not waiting.held([Item("m", release(parkings=at))])
    assert noted == [0, NOTED_MS]
    put_new = clockwork.timeline.put_new
    for took_ms, again in ((LONGEST_PARKING_MS, []), (LONGEST_PARKING_MS + 1, [LONGEST_PARKING_MS + 1])):
        noted.clear()
        clockwork.clock.at, clockwork.world.environment.parking_noted_until["acme"] = NOW, NOW + 1

        def slow(rows: Sequence[Row], ms: int = took_ms) -> None:
            clockwork.clock.advance(ms)
            put_new(rows)

        monkeypatch.setattr(clockwork.timeline, "put_new", slow)
        assert not waiting.held([Item("m", release(parkings=took_ms))])
        assert noted == again
    assert waiting.report.parked == 5


def test_what_is_sent_anew_counts_its_own_waits_and_waits_no_longer_for_receives() -> None:
    # Every wait for a permit is multiplied by it: a factor of its own would leave permits unused for as long again.
    assert Resent(MemoryClockwork().world).patience(Item("m", release(permits=3))) == 1


def test_what_is_parked_behind_a_circuit_lies_with_its_host() -> None:
    clockwork = MemoryClockwork()
    waiting = Resent(clockwork.world)
    assert not waiting.held([Item("m", release())], behind_circuit=True)
    assert not waiting.held([Item("m", release(attempt=2))])
    keys = sorted(clockwork.timeline._rows[parking_of("acme")])
    assert [key.startswith(host_prefix("example.com")) for key in keys] == [False, True]
