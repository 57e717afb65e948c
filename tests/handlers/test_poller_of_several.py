"""The poller's handler with several shards: it polls them at the same time, each independently of the others."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.domain.timeline import Page
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.handlers.handlers import CONTEXT, make_handler
from tests.handlers.test_metrics import metrics_of
from tests.support.events import poller_event, poller_of_several_event

EIGHT = keys.plain_partitions(8)
P = EIGHT[0]
#: The longest that a thread waits for an event that must come (s).
PATIENCE_SECONDS = 20


def ready() -> MemoryClockwork:
    clockwork = MemoryClockwork(Settings.for_local().with_(shards=8))
    for partition_id in EIGHT:
        clockwork.shards.register(partition_id)
    return clockwork


def poll(clockwork: MemoryClockwork) -> Any:
    return make_handler("poller", clockwork.world)(poller_of_several_event(EIGHT), CONTEXT)


def horizons(clockwork: MemoryClockwork) -> set[str]:
    return {shard.horizon for shard in clockwork.shards.get(EIGHT).values()}


def read_by(clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch, read: Any) -> None:
    """Call `read(partition_id)` before each read of the timeline."""
    inner = clockwork.timeline.read

    def reading(partition_id: str, after: str, until: str, limit: int) -> Page:
        read(partition_id)
        return inner(partition_id, after, until, limit)

    monkeypatch.setattr(clockwork.timeline, "read", reading)


def test_every_shard_is_visited_and_one_line_of_metrics_tells_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    clockwork = ready()
    visits = poll(clockwork)["visits"]
    assert [visit["partitionId"] for visit in visits] == list(EIGHT)
    assert {(visit["outcome"], visit["released"]) for visit in visits} == {("dry", 0)}
    written = capsys.readouterr().out
    (line,) = metrics_of(written)
    assert (line["Polls"], line["HorizonAheadMs"]) == (8, 70_000)
    assert json.loads(written)["shards"] == {"dry": list(EIGHT)}
    assert horizons(clockwork) == {keys.edge_key(clockwork.clock.at + 70_000)}


def test_the_line_has_the_worst_of_the_shards_and_the_sum_of_their_work(capsys: pytest.CaptureFixture[str]) -> None:
    clockwork = ready()
    poll(clockwork)
    capsys.readouterr()
    clockwork.clock.advance(30_000)
    make_handler("poller", clockwork.world)(poller_event(P), CONTEXT)
    clockwork.clock.advance(60_000)
    capsys.readouterr()
    poll(clockwork)
    (line,) = metrics_of(capsys.readouterr().out)
    # One shard was polled half a minute after the others, up to 70 s ahead.
    assert line["HorizonAheadMs"] == 70_000
    assert line["Polls"] == 8


def test_a_shard_whose_calls_hang_keeps_no_other_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    others = threading.Semaphore(0)
    came: list[bool] = []

    def read(partition_id: str) -> None:
        if partition_id != P:
            others.release()
            return
        came.extend(others.acquire(timeout=PATIENCE_SECONDS) for _ in EIGHT[1:])

    read_by(clockwork, monkeypatch, read)
    assert len(poll(clockwork)["visits"]) == 8
    assert came == [True] * 7


def test_a_shard_that_fails_fails_the_invocation_once_the_others_are_done_and_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clockwork = ready()

    def read(partition_id: str) -> None:
        if partition_id == P:
            raise Unavailable("ThrottlingException")

    read_by(clockwork, monkeypatch, read)
    with pytest.raises(Unavailable, match="ThrottlingException"):
        poll(clockwork)
    assert [line["Polls"] for line in metrics_of(capsys.readouterr().out)] == [7]
    shards = clockwork.shards.get(EIGHT)
    assert {one for one, shard in shards.items() if shard.lease_until == 0} == set(EIGHT[1:])


def test_a_shard_in_the_hands_of_another_is_left_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    clockwork = ready()
    now = clockwork.clock.now()
    assert clockwork.shards.acquire(P, "another", now, now + 20_000, keys.BEGINNING) is not None
    outcomes = {visit["partitionId"]: visit["outcome"] for visit in poll(clockwork)["visits"]}
    assert outcomes == {**dict.fromkeys(EIGHT, "dry"), P: "no_lease"}
    written = capsys.readouterr().out
    assert [line["Polls"] for line in metrics_of(written)] == [7]
    assert json.loads(written)["shards"] == {"dry": list(EIGHT[1:]), "no_lease": [P]}
