"""The reader of the benchmark of isolation: its pace leaves the pollers enough, and without one it does not."""

from __future__ import annotations

import pytest

from bench.isolating.reader import Partition
from clockwork.flows.requests import reading
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings


def hot_seconds(seconds: int) -> int:
    clockwork = MemoryClockwork(Settings.for_account())
    partition = Partition(clockwork.world, "odd")
    for _ in range(seconds):
        partition.is_hot()
        clockwork.clock.at += 1_000
    return partition.hot_seconds


def test_a_reader_at_its_pace_never_uses_up_a_partition() -> None:
    assert hot_seconds(120) == 0


def test_a_reader_without_a_pace_uses_it_up_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "wait_seconds", lambda *_: 0)
    assert hot_seconds(120) == 120
