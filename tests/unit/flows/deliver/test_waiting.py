"""Waiting in the ordered queue: the head of a key that is not done becomes visible again at its time."""

from __future__ import annotations

import pytest

from clockwork.domain.ordering import patience
from clockwork.domain.releases import Release
from clockwork.domain.requests.create import occurrence_of
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.items import Item
from clockwork.flows.deliver.waiting import FAILED_AGAIN_MS, LOOK_AGAIN_MS, InPlace
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.support.examples import ACME, new_job


def _batch_of(count: int, receive_count: int = 1) -> tuple[Batch, InPlace, list[Item]]:
    clockwork = MemoryClockwork()
    occurrence = occurrence_of(new_job(delay_ms=0), ACME, clockwork.clock.at)
    items = [Item(str(n), Release(f"job {n}", occurrence, occurrence.due_at)) for n in range(count)]
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
