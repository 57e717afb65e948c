"""The poller of a plain shard: one owner at a time, and a cursor that never passes a row that was not released."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.fires.chains import Step, expand
from clockwork.domain.named_jobs import Pointer
from clockwork.domain.recurrence import Fire
from clockwork.domain.releases import Release
from clockwork.domain.storage import codec
from clockwork.domain.storage.rows import row_of_job
from clockwork.domain.timeline import Page, Row
from clockwork.flows.poll import expand as visits
from clockwork.flows.poll import release as releasing
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.poll.tick import tick
from clockwork.flows.poll.visit import PollReport
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Lease, Refused
from tests.support.examples import NOW, occurrence
from tests.support.named import Named

P = "p000"


def put(clockwork: MemoryClockwork, *delays_ms: int) -> list[Row]:
    rows = [
        row_of_job(P, f"{index:022d}", occurrence(due_at=clockwork.clock.at + delay), NOW * 2)
        for index, delay in enumerate(delays_ms)
    ]
    clockwork.timeline.put(rows)
    return rows


def ready() -> MemoryClockwork:
    clockwork = MemoryClockwork()
    clockwork.shards.register(P)
    return clockwork


def poll(clockwork: MemoryClockwork, for_ms: int = 60_000) -> PollReport:
    return poll_shard(clockwork.world, P, clockwork.clock.at + for_ms)


def cursor(clockwork: MemoryClockwork) -> str:
    return clockwork.shards.get([P])[P].cursor


def test_what_is_due_within_the_lookahead_is_released_and_the_rest_waits() -> None:
    clockwork = ready()
    put(clockwork, 0, 69_999, 70_000, 70_001, 500_000)
    report = poll(clockwork)
    assert (report.outcome, report.released) == ("dry", 3)
    shard = clockwork.shards.get([P])[P]
    assert shard.cursor == shard.horizon == keys.edge_key(clockwork.clock.at + 70_000)
    assert shard.lease_until == 0
    clockwork.clock.advance(60_000)
    assert poll(clockwork).released == 1


def test_a_shard_without_a_row_is_never_used() -> None:
    assert poll(MemoryClockwork()).outcome == "no_lease"


def test_of_two_pollers_one_wins() -> None:
    clockwork = ready()
    assert clockwork.shards.acquire(P, "other", clockwork.clock.at, clockwork.clock.at + 20_000, "1")
    put(clockwork, 0)
    assert poll(clockwork).outcome == "no_lease"
    clockwork.clock.advance(20_001)
    assert poll(clockwork).released == 1


def test_the_cursor_is_committed_at_least_every_500_occurrences() -> None:
    clockwork = ready()
    put(clockwork, *[1] * 1_201)
    report = poll(clockwork)
    assert (report.outcome, report.released, report.commits) == ("dry", 1_201, 3)


def test_a_slow_visit_commits_every_five_seconds_and_keeps_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    put(clockwork, *[1] * 450)
    send = clockwork.queue.send

    def slow(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        clockwork.clock.advance(6_000)
        return send(releases, now)

    monkeypatch.setattr(clockwork.queue, "send", slow)
    report = poll(clockwork)
    assert (report.outcome, report.released) == ("dry", 450)
    assert report.commits >= 4


def test_a_fenced_poller_cannot_commit_and_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    put(clockwork, *[1] * 200)
    send = clockwork.queue.send

    def overtaken(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        clockwork.clock.advance(21_000)
        assert clockwork.shards.acquire(P, "next", clockwork.clock.at, clockwork.clock.at + 20_000, "1")
        return send(releases, now)

    monkeypatch.setattr(clockwork.queue, "send", overtaken)
    assert poll(clockwork).outcome == "fenced"
    assert cursor(clockwork) == keys.BEGINNING


def test_a_poller_that_dies_before_its_commit_leaves_everything_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    put(clockwork, 1, 2, 3)

    def die(lease: Lease) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(clockwork.shards, "commit", die)
        with pytest.raises(KeyboardInterrupt):
            poll(clockwork)
    clockwork.clock.advance(20_001)
    assert poll(clockwork).released == 3
    assert len(clockwork.queue.messages) == 6


def test_when_time_runs_short_it_commits_what_was_sent_and_stops() -> None:
    clockwork = ready()
    put(clockwork, 1, 2)
    report = poll(clockwork, for_ms=1_000)
    assert (report.outcome, report.released) == ("out_of_time", 0)
    assert clockwork.shards.get([P])[P].lease_until == 0
    assert poll(clockwork).released == 2


def test_an_unreadable_row_becomes_a_dead_record_and_the_shard_goes_on() -> None:
    clockwork = ready()
    row = put(clockwork, 5, 6)[0]
    clockwork.timeline.put([msgspec.structs.replace(row, blob=b"\x01garbage")])
    report = poll(clockwork)
    assert (report.outcome, report.released, report.dead) == ("dry", 1, 1)
    (dead,) = clockwork.executions.all()
    assert (dead.state, dead.kept.raw) == (State.DEAD, b"\x01garbage")


@pytest.mark.parametrize("byte", [codec.FORMAT + 1, 77, 255])
def test_a_row_of_a_newer_format_is_passed_and_waits_for_who_can_read_it(byte: int) -> None:
    clockwork = ready()
    rows = put(clockwork, 5, 6)
    clockwork.timeline.put([msgspec.structs.replace(rows[0], blob=bytes([byte]))])
    report = poll(clockwork)
    assert (report.outcome, report.released, report.quarantined) == ("dry", 1, 1)
    assert cursor(clockwork) > rows[1].key
    assert poll(clockwork).quarantined == 1
    clockwork.timeline.put(rows[:1])
    report = poll(clockwork)
    assert (report.released, report.quarantined) == (1, 0)
    assert not clockwork.executions.all()


def test_what_can_never_be_sent_becomes_a_dead_record(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    put(clockwork, 5, 6)

    def refuse(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        return [Refused(1, True, "too large")]

    monkeypatch.setattr(clockwork.queue, "send", refuse)
    report = poll(clockwork)
    assert (report.outcome, report.released, report.dead) == ("dry", 1, 1)
    (dead,) = clockwork.executions.all()
    assert "too large" in (dead.reason or "")
    assert dead.kept.occurrence is not None


def test_pages_cut_by_bytes_are_followed_to_the_end() -> None:
    clockwork = ready()
    clockwork.timeline._page_bytes = 2_000
    put(clockwork, *range(40))
    assert poll(clockwork).released == 40


def test_a_tick_starts_a_poller_for_every_shard() -> None:
    clockwork = MemoryClockwork()
    clockwork.shards.register("o001")
    assert tick(clockwork.world).started == 5
    assert sorted(clockwork.invoker.asked) == ["o001", *keys.plain_partitions(4)]


def test_a_visit_that_fails_commits_how_far_it_got_and_sends_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    put(clockwork, *range(250))
    pointer = Pointer("acme", "daily", "v", Fire(NOW + 400, NOW + 400, 1))
    clockwork.timeline.put([Row(P, pointer.key, codec.encode_row([pointer]), NOW * 2)])

    visit_rows = visits.visit_rows

    def unavailable(world: Any, rows: Sequence[Row], *rest: Any) -> Any:
        if rows[-1].key == pointer.key:
            raise Unavailable("the table is throttled")
        return visit_rows(world, rows, *rest)

    monkeypatch.setattr(releasing, "visit_rows", unavailable)
    for _ in range(5):
        with pytest.raises(Unavailable):
            poll(clockwork)
        clockwork.clock.advance(1_000)
    sent = [one.job_id for message in clockwork.queue.messages.values() for one in codec.decode_message(message.body)]
    assert len(sent) >= 200
    assert len(sent) == len(set(sent))


def test_a_tick_tells_how_far_a_shard_is_behind_though_no_poller_visits_it() -> None:
    clockwork = ready()
    lags = [tick(clockwork.world).lag_ms]
    poll(clockwork)
    clockwork.clock.advance(95_000)
    lags.append(tick(clockwork.world).lag_ms)
    poll(clockwork)
    lags.append(tick(clockwork.world).lag_ms)
    # A new shard is behind nothing; one that was polled is ahead by its lookahead.
    assert lags == [0, 95_000 - 70_000, 0]


def test_a_visit_without_a_fault_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    clockwork = ready()
    put(clockwork, 0, 1_000)
    poll(clockwork)
    assert caplog.messages == []


@pytest.mark.parametrize("read_ms", [0, 7_000])
def test_chains_that_take_long_are_committed_in_parts_and_the_lease_does_not_end(
    read_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Named(every_ms=3_600_000)
    clockwork = named.clockwork
    for number in range(150):
        named.create(f"chain {number}", every_ms=3_600_000)
    clockwork.clock.advance(3_590_000)
    get, commit = clockwork.jobs.get, clockwork.shards.commit
    parts = []

    def slow_read(refs: Sequence[tuple[str, str]]) -> Any:
        clockwork.clock.advance(read_ms)
        return get(refs)

    def slow_expand(*arguments: Any) -> Step:
        clockwork.clock.advance(300)
        return expand(*arguments)

    def in_time(lease: Lease) -> bool:
        assert clockwork.clock.at < clockwork.shards.get([lease.partition_id])[lease.partition_id].lease_until
        parts.append(lease.partition_id)
        return commit(lease)

    monkeypatch.setattr(clockwork.jobs, "get", slow_read)
    monkeypatch.setattr(visits, "expand", slow_expand)
    monkeypatch.setattr(clockwork.shards, "commit", in_time)
    reports = [poll_shard(clockwork.world, one, clockwork.clock.at + 600_000) for one in clockwork.shards.list()]
    assert sum(report.released for report in reports) == 151
    assert len(parts) > 2 * len(reports)


@pytest.mark.parametrize("key", ["1!odd", "0 odd", "1#", "0\u0661"])
def test_a_shard_goes_on_whose_cursor_stopped_at_a_key_that_no_version_makes(key: str) -> None:
    clockwork = ready()
    (row,) = put(clockwork, 60_000)
    clockwork.timeline.put([msgspec.structs.replace(row, key=key, blob=b"\x01odd")])
    read = clockwork.timeline.read

    def silent_behind_it(partition_id: str, after: str, until: str, limit: int) -> Page:
        if after < key:
            return msgspec.structs.replace(read(partition_id, after, until, 1), more=True)
        raise Unavailable("no answer")

    clockwork.timeline.read = silent_behind_it  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        poll(clockwork)
    assert clockwork.shards.get([P])[P].cursor == key
    clockwork.timeline.read = read  # type: ignore[method-assign]
    clockwork.clock.at += 30_000
    report = poll(clockwork)
    assert (report.outcome, report.released) == ("dry", 1)
