"""Dead letters of ingestion: nobody sweeps them, and a sweep counts them with those that stay."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.flows.sweep.sweep import repair_all
from clockwork.memory.world import MemoryClockwork

DEADLINE_MS = 60_000


@pytest.fixture
def clockwork() -> MemoryClockwork:
    return MemoryClockwork()


def test_letters_that_nobody_sweeps_are_letters_that_stay(
    clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(clockwork.world.dead_letters), "beside", lambda _: 3)
    repairs = repair_all(clockwork.world, clockwork.clock.now() + DEADLINE_MS)
    assert msgspec.structs.asdict(repairs.letters) == {"released": 0, "absorbed": 0, "dead": 0, "left": 3}


def test_a_count_without_an_answer_stops_no_sweep(
    clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: object) -> int:
        raise Unavailable("throttled")

    monkeypatch.setattr(type(clockwork.world.dead_letters), "beside", fail)
    repairs = repair_all(clockwork.world, clockwork.clock.now() + DEADLINE_MS)
    assert (repairs.letters.left, repairs.failures) == (0, [])
    assert [getattr(record, "action", "") for record in caplog.records] == ["letters_not_counted"]
