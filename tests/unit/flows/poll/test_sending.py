"""Aligned sends: when a visit waits for the instants of its grid, and when it does not."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.messages.alignment import FINER, Aligned
from clockwork.domain.releases import Refused, Release
from clockwork.domain.storage.rows import row_of_job
from clockwork.domain.timeline import Page
from clockwork.flows.poll.poller import SHARE_MS, poll_among_others, poll_any
from clockwork.flows.poll.pool import MOST_POOLED, Waits
from clockwork.flows.poll.visit import PollReport
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import NOW, occurrence, release_in

P, OTHER = "p000", "p001"
MARGIN_MS, GRID_MS = 150, 250
MINUTES_MS = 300_000


def ready(**settings: object) -> MemoryClockwork:
    clockwork = MemoryClockwork(Settings.for_account().with_(shards=2, **settings), aligned=True)
    for partition_id in (P, OTHER):
        clockwork.shards.register(partition_id)
    clockwork.clock.at += 321  # a poller begins at any instant of a second
    return clockwork


def put(clockwork: MemoryClockwork, dues: Sequence[int], partition_id: str = P) -> None:
    clockwork.timeline.put(
        [
            row_of_job(partition_id, f"{number:022d}", occurrence(due_at=due_at), NOW * 2)
            for number, due_at in enumerate(sorted(dues))
        ]
    )


def ahead(clockwork: MemoryClockwork, count: int) -> list[int]:
    """`count` due instants, at any millisecond of the lookahead but its first seconds."""
    drawn = random.Random(count)
    return [clockwork.clock.at + drawn.randrange(10_000, 230_000) for _ in range(count)]


def poll(clockwork: MemoryClockwork, partition_id: str = P) -> PollReport:
    return poll_any(clockwork.world, partition_id, clockwork.clock.at + MINUTES_MS)


def early_ms(clockwork: MemoryClockwork) -> list[int]:
    """How long before its instant each message comes."""
    return [release_in(m.body).run_at - m.visible_at for m in clockwork.queue.messages.values()]


def sends(clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch, takes_ms: int = 0) -> list[Aligned | None]:
    """The alignment of each send, from now on; each send takes so long."""
    inner, seen = clockwork.queue.send, list[Aligned | None]()

    def send(releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        seen.append(aligned)
        refused = inner(releases, now, aligned)
        clockwork.clock.advance(takes_ms)
        return refused

    monkeypatch.setattr(clockwork.queue, "send", send)
    return seen


@pytest.mark.parametrize(("count", "grid_ms"), [(3, 50), (40, 50), (500, 250), (1_700, 250)])
def test_messages_come_shortly_before_they_are_due_after_one_sweep_of_a_second(
    count: int, grid_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork = ready()
    seen = sends(clockwork, monkeypatch)
    put(clockwork, ahead(clockwork, count))
    began_at = clockwork.clock.at
    report = poll(clockwork)
    assert (report.outcome, report.released, report.commits) == ("dry", count, 1)
    assert 0 < clockwork.clock.at - began_at < 1_000
    assert all(MARGIN_MS <= early < MARGIN_MS + GRID_MS for early in early_ms(clockwork))
    assert {one.at % grid_ms for one in seen if one is not None} == {0}
    assert any(one.at % GRID_MS for one in seen if one is not None) == (grid_ms < GRID_MS)
    assert None not in seen


@pytest.mark.parametrize("count", [1, 2])
def test_for_too_few_nobody_waits(count: int) -> None:
    clockwork = ready()
    put(clockwork, ahead(clockwork, count))
    began_at = clockwork.clock.at
    assert poll(clockwork).released == count
    assert clockwork.clock.at == began_at


def test_visits_of_one_invocation_count_together() -> None:
    clockwork = ready()
    put(clockwork, ahead(clockwork, 2))
    put(clockwork, ahead(clockwork, 1), OTHER)
    waits = Waits(clockwork.clock.at + MINUTES_MS)
    for partition_id in (P, OTHER):
        poll_among_others(clockwork.world, partition_id, clockwork.clock.at + MINUTES_MS, waits)
    # The first two were sent before anything was known of the third.
    assert [MARGIN_MS <= early < MARGIN_MS + GRID_MS for early in early_ms(clockwork)][2:] == [True]


def test_what_is_due_soon_is_sent_at_once_and_keeps_nothing_else_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    seen = sends(clockwork, monkeypatch)
    put(clockwork, [clockwork.clock.at + 900, *ahead(clockwork, 10)])
    began_at = clockwork.clock.at
    assert poll(clockwork).released == 11
    assert (clockwork.clock.at, seen) == (began_at, [None])


def test_more_than_a_pool_is_sent_in_several_sweeps(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    seen = sends(clockwork, monkeypatch)
    put(clockwork, ahead(clockwork, 2 * MOST_POOLED + 300))
    began_at = clockwork.clock.at
    report = poll(clockwork)
    assert (report.outcome, report.released) == ("dry", 2 * MOST_POOLED + 300)
    assert report.commits >= 3
    assert None not in seen
    assert clockwork.clock.at - began_at < 3_000
    assert all(MARGIN_MS <= early < MARGIN_MS + GRID_MS for early in early_ms(clockwork))


def test_a_backlog_is_sent_at_once_and_the_rest_of_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    seen = sends(clockwork, monkeypatch)
    put(clockwork, [clockwork.clock.at - 5_000 + n for n in range(MOST_POOLED)])
    began_at = clockwork.clock.at
    assert poll(clockwork).released == MOST_POOLED
    assert clockwork.clock.at == began_at
    assert set(seen) == {None}


def test_many_that_are_due_close_together_come_by_a_finer_grid() -> None:
    clockwork = ready()
    second = clockwork.clock.at // 1_000 * 1_000 + 60_000
    put(clockwork, [second + 2 * n for n in range(500)])
    assert poll(clockwork).released == 500
    assert all(MARGIN_MS <= early < MARGIN_MS + GRID_MS // FINER for early in early_ms(clockwork))


def test_with_the_switch_off_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready(send_grid_ms=0)
    seen = sends(clockwork, monkeypatch)
    put(clockwork, ahead(clockwork, 40))
    began_at = clockwork.clock.at
    assert poll(clockwork).released == 40
    assert (clockwork.clock.at, seen) == (began_at, [None])


def test_what_a_visit_waits_is_no_part_of_its_share() -> None:
    """Else one that has worked for a while would be handed over to a poller of its own, which nobody needs."""
    clockwork = ready()
    put(clockwork, ahead(clockwork, 40))
    inner = clockwork.timeline.read

    def slow(*args: object) -> Page:
        clockwork.clock.advance(SHARE_MS - 100)
        return inner(*args)  # type: ignore[arg-type]

    clockwork.timeline.read = slow  # type: ignore[method-assign,assignment]
    assert poll_among_others(clockwork.world, P, clockwork.clock.at + MINUTES_MS).outcome == "dry"
    assert clockwork.invoker.asked == []


def test_nothing_waits_that_the_lease_would_not_outlast(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready(lease_seconds=7)
    seen = sends(clockwork, monkeypatch)
    put(clockwork, ahead(clockwork, 40))
    assert poll(clockwork).outcome == "dry"
    assert seen == [None]


def test_a_sweep_whose_sends_are_slow_ends_before_the_lease_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    seen, dues = sends(clockwork, monkeypatch, takes_ms=6_000), ahead(clockwork, 40)
    put(clockwork, dues)
    report = poll(clockwork)
    assert report.outcome == "out_of_time"
    assert 0 < report.released < 40
    assert len(seen) == 3
    lease = clockwork.shards.get([P])[P]
    assert lease.lease_until == 0
    monkeypatch.undo()
    assert poll(clockwork).outcome == "dry"
    assert {release_in(m.body).run_at for m in clockwork.queue.messages.values()} == set(dues)


def test_messages_whose_sends_come_whole_seconds_late_come_as_shortly_before_they_are_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each send holds the next one up by a second and 4 ms, and for these no message may come a second too soon."""
    clockwork = ready()
    late_ms = 1_004
    seen = sends(clockwork, monkeypatch, takes_ms=GRID_MS + late_ms)
    put(clockwork, ahead(clockwork, 200))
    assert poll(clockwork).released == 200
    assert len(seen) == 1_000 // GRID_MS
    assert all(MARGIN_MS - 3 * (late_ms - 1_000) <= early < MARGIN_MS + GRID_MS for early in early_ms(clockwork))


def test_what_was_read_is_sent_where_a_later_page_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    put(clockwork, ahead(clockwork, 700))
    inner, reads = clockwork.timeline.read, list[str]()

    def read(partition_id: str, after: str, until: str, limit: int) -> Page:
        reads.append(after)
        if len(reads) == 2:
            raise Unavailable("ThrottlingException")
        return inner(partition_id, after, until, limit)

    monkeypatch.setattr(clockwork.timeline, "read", read)
    with pytest.raises(Unavailable):
        poll(clockwork)
    assert len(clockwork.queue.messages) == 500
    assert poll(clockwork).released == 200
    assert len(clockwork.queue.messages) == 700


def test_a_message_that_several_share_is_not_split_by_the_grid() -> None:
    clockwork = ready()
    second = clockwork.clock.at // 1_000 * 1_000 + 60_000
    target = SqsTarget("arn:aws:sqs:us-east-1:123456789012:theirs")
    clockwork.timeline.put(
        [row_of_job(P, f"{n:022d}", occurrence(due_at=second + 60 * n, target=target), NOW * 2) for n in range(16)]
        + [row_of_job(P, f"x{n:021d}", occurrence(due_at=second + 9_000 + n), NOW * 2) for n in range(3)]
    )
    assert poll(clockwork).released == 19
    assert len(clockwork.queue.messages) == 4


def test_what_makes_the_planning_of_a_sweep_raise_keeps_nothing_from_being_sent(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork = ready()
    seen = sends(clockwork, monkeypatch)
    put(clockwork, ahead(clockwork, 40))

    def raising(*_: object) -> None:
        raise ValueError("odd")

    monkeypatch.setattr("clockwork.flows.poll.sending.plan_bundles", raising)
    report = poll(clockwork)
    assert (report.outcome, report.released, seen) == ("dry", 40, [None])
    assert "a visit sends at once" in caplog.text and "odd" not in caplog.text
