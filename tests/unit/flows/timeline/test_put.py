"""The check after a put: a horizon that was read earlier spares the reads of a job that is due before it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from clockwork.flows.requests.create import CreatedJob, create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import new_job, request

SOON_MS = 10_000
LOOKAHEAD_MS = MemoryClockwork().world.settings.lookahead_seconds * 1000
LATER_MS = LOOKAHEAD_MS + 60_000


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Counter[str]]]:
    """Counts the reads of shards' rows and of timeline rows that a create makes."""
    clockwork = MemoryClockwork()
    counts: Counter[str] = Counter()

    def counted(port: Any, name: str) -> None:
        inner = getattr(port, name)

        def call(what: Sequence[Any]) -> Any:
            counts[name] += 1
            return inner(what)

        monkeypatch.setattr(port, name, call)

    counted(clockwork.shards, "get")
    counted(clockwork.timeline, "find")
    clockwork.poll_all()

    def of(delay_ms: int, *, is_released: bool, key: str | None = None, waited_ms: int = 0, **job: Any) -> Counter[str]:
        clockwork.clock.advance(waited_ms)
        if waited_ms:
            clockwork.poll_all()
        partitions = ensure_shards(clockwork.world)[:1]
        counts.clear()
        created: Sequence[CreatedJob] = create_jobs(
            clockwork.world, request(new_job(delay_ms=delay_ms, **job), key=key), partitions
        )
        assert [one.released for one in created] == [is_released]
        return Counter(counts)

    yield of


def test_a_job_before_the_horizon_costs_a_read_of_its_shard_once(reads: Callable[..., Counter[str]]) -> None:
    assert reads(SOON_MS, is_released=True) == {"get": 1}
    assert reads(SOON_MS, is_released=True) == {}


def test_a_job_beyond_the_horizon_that_was_read_is_checked_each_time(reads: Callable[..., Counter[str]]) -> None:
    assert reads(LATER_MS, is_released=False) == {"get": 1}
    assert reads(LATER_MS, is_released=False) == {"get": 1}
    # Polled again meanwhile, the shard has a horizon beyond the job.
    assert reads(LOOKAHEAD_MS - 1_000, is_released=True, waited_ms=120_000) == {"get": 1}


def test_a_row_under_a_key_is_read_as_it_is_by_now(reads: Callable[..., Counter[str]]) -> None:
    assert reads(SOON_MS, is_released=True, key="wish-1") == {"get": 1, "find": 1}
    assert reads(SOON_MS, is_released=True, key="wish-1") == {"find": 1}


def test_an_ordered_shard_is_read_for_each_job(reads: Callable[..., Counter[str]]) -> None:
    # Its poller is asked each time how far it has come: what is created in time is released in its turn.
    for _ in range(2):
        assert reads(SOON_MS, is_released=False, ordering_key="account-7")["get"] >= 1
