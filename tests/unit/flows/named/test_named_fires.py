"""Fires of named jobs: one chain, in which each fire happens once, also after an outage or a pause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
import pytest

from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.executions import Outcome, State
from clockwork.domain.fires import chains
from clockwork.domain.fires.chains import expand, first_pointer, ordinal_at
from clockwork.domain.fires.missed import is_missed
from clockwork.domain.ids import ExecutionId
from clockwork.domain.keys import END, edge_key
from clockwork.domain.named.changes import paused, resumed
from clockwork.domain.named.overlaps import turned
from clockwork.domain.named_jobs import JobState, Pointer, occurrence_of
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.recurrence import Fire, Recurrence
from clockwork.domain.releases import Delivery, Release
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.storage.rows import pointer_row
from clockwork.domain.timeline import Row
from clockwork.flows.poll.expand import Silence, visit_rows
from clockwork.ports import Refused
from tests.support.examples import failure
from tests.support.named import Named


def test_a_recurring_job_fires_at_each_instant_once() -> None:
    named = Named()
    assert named.run(305) == [float(s) for s in range(10, 310, 10)]
    assert {e.state for e in named.executions()} == {State.SUCCEEDED}


def test_a_job_created_behind_the_horizon_misses_nothing() -> None:
    named = Named()
    named.run(61)
    late = named.create(key="late", every_ms=1_000)
    assert len(late.released) > 0
    seen = [s for s in named.run(200) if s % 10]
    assert seen == [float(s) for s in range(62, 261) if s % 10]


def test_a_one_shot_with_a_name_fires_once() -> None:
    named = Named(recurrence=None, at=1_700_000_030_000)
    assert named.run(300) == [30.0]
    assert first_pointer(named.stored) is not None


@pytest.mark.parametrize("max_fires", [1, 7])
def test_a_schedule_ends_after_so_many_fires(max_fires: int) -> None:
    named = Named(max_fires=max_fires)
    assert len(named.run(300)) == max_fires


def test_a_cron_job_fires_by_its_expression() -> None:
    named = Named(recurrence=Recurrence(cron=compile_cron("*/2 * * * *")))
    due = named.run(600)
    assert [(named.start // 1000 + s) % 120 for s in due] == [0.0] * 5


@pytest.mark.parametrize(
    ("catch_up", "delivered", "skipped"),
    [("all", [40, 50, 60, 70], []), ("latest", [60, 70], [40, 50]), ("none", [70], [40, 50, 60])],
)
def test_what_was_due_in_a_pause_is_caught_up_as_the_policy_says(
    catch_up: str, delivered: list[float], skipped: list[int]
) -> None:
    named = Named(catch_up=catch_up)
    named.run(35)
    named.change(paused(None))
    named.run(30)
    named.change(resumed(None))
    assert named.run(10) == delivered
    # They had been released ahead, so each ended by itself.
    ended = [e for e in named.executions() if e.state is State.SKIPPED]
    assert sorted((e.due_at - named.start) // 1_000 for e in ended) == skipped


@pytest.mark.parametrize(("catch_up", "count"), [("all", 30), ("latest", 1), ("none", 0)])
def test_what_an_outage_missed_is_caught_up_as_the_policy_says(catch_up: str, count: int) -> None:
    named = Named(catch_up=catch_up)
    named.clockwork.clock.advance(305_000)
    late = [s for s in named.run(1) if s < 305 - 60]
    assert len(late) == max(0, count - 6) if catch_up == "all" else len(late) == count
    missed = [e.end.skipped.count for e in named.executions() if e.end.skipped is not None]
    assert sum(missed) + len(late) == 24


def test_a_window_bounds_what_is_caught_up() -> None:
    named = Named(catch_up="all", catch_up_window_seconds=100)
    named.clockwork.clock.advance(305_000)
    assert min(named.run(1)) == 210.0


def test_a_long_outage_of_a_fast_job_is_one_short_visit() -> None:
    named = Named(every_ms=1_000, catch_up="none")
    named.clockwork.clock.advance(100_000_000)
    reports = named.clockwork.poll_all()
    assert sum(report.skipped for report in reports) == 99_939
    assert named.run(0) == []
    assert len(named.run(1)) <= 71


def test_a_fast_job_is_expanded_in_visits_of_500() -> None:
    named = Named(every_ms=100)
    due = named.run(65.05)
    assert due == [i / 10 for i in range(1, len(due) + 1)]
    assert len(due) >= 650


def test_overlapping_executions_are_skipped_if_the_job_says_so() -> None:
    policy = RetryPolicy(backoff="fixed", initial_seconds=25, jitter="none")
    named = Named(overlap="skip", retry_policy=policy)
    answers = iter([failure(started_at=named.start)])
    succeed = named.clockwork.targets._succeed
    named.clockwork.targets._answer = lambda d: next(answers, None) or succeed(d)
    named.run(65)
    states = {(e.due_at - named.start) // 1000: e.state for e in named.executions()}
    assert states == {
        10: State.SUCCEEDED,
        20: State.SKIPPED,
        30: State.SKIPPED,
        40: State.SUCCEEDED,
        50: State.SUCCEEDED,
        60: State.SUCCEEDED,
    }


def test_to_look_for_an_overlap_takes_two_reads_of_each_fire(monkeypatch: pytest.MonkeyPatch) -> None:
    named, reads = Named(overlap="skip"), list[str]()
    executions = named.clockwork.executions

    def counted(name: str, read: Callable[..., Any], *args: Any) -> Any:
        reads.append(name)
        return read(*args)

    turnstiles = named.clockwork.turnstiles
    for name in ("find", "list", "get", "between"):
        monkeypatch.setattr(executions, name, partial(counted, name, getattr(executions, name)))
    monkeypatch.setattr(turnstiles, "get", partial(counted, "turnstile", turnstiles.get))
    named.run(5)
    for fire in range(1, 5):
        assert named.run(10) == [10.0 * fire]
        assert Counter(reads) == {"turnstile": fire, "between": fire}


def test_two_fires_that_start_out_of_order_do_not_overlap() -> None:
    named = Named(overlap="skip", max_fires=2)
    named.clockwork.poll_all()
    late = [
        m for m in named.clockwork.queue.messages.values() if decode_message(m.body)[0].run_at == named.start + 10_000
    ]
    (message,) = late
    message.visible_at += 60_000

    def while_running(delivery: Delivery) -> Outcome:
        if delivery.occurrence.due_at == named.start + 20_000:
            message.visible_at = named.clockwork.clock.at
            named.clockwork.deliver_visible()
        return named.clockwork.targets._succeed(delivery)

    named.clockwork.targets._answer = while_running
    assert named.run(100) == [20.0]
    first = next(e for e in named.executions() if e.due_at == named.start + 10_000)
    assert (first.state, first.reason) == (State.SKIPPED, "another execution of its job has not ended")


def test_what_was_let_through_and_whose_deliverer_died_finds_its_own_name() -> None:
    named = Named(overlap="skip", max_fires=1)
    named.clockwork.poll_all()
    job_id = named.job.job_id
    execution_id = str(ExecutionId(job_id, named.start + 10_000, "0"))
    (release,) = [one for m in named.clockwork.queue.messages.values() for one in decode_message(m.body)]
    assert release.execution_id == execution_id
    named.clockwork.turnstiles.put(None, turned(named.job, None, "", named.start * 2, through=execution_id))
    assert named.run(20) == [10.0]


@pytest.mark.parametrize(("skipped", "looks"), [(9, 1), (15, 1), (130, 1)])
def test_an_execution_is_found_under_way_however_many_were_skipped_for_it(
    monkeypatch: pytest.MonkeyPatch, skipped: int, looks: int
) -> None:
    policy = RetryPolicy(backoff="fixed", initial_seconds=10 * skipped + 5, jitter="none")
    named = Named(overlap="skip", retry_policy=policy)
    answers = iter([failure(started_at=named.start)])
    succeed = named.clockwork.targets._succeed
    named.clockwork.targets._answer = lambda d: next(answers, None) or succeed(d)
    named.run(10 * skipped + 5)
    # It was let through before its job became `overlap: skip`, so nothing names it.
    assert named.clockwork.turnstiles.stored.pop(named.job.job_id)
    pages: list[object] = []
    look = named.clockwork.executions.between

    def counting(*asked: Any) -> object:
        pages.append(asked)
        return look(*asked)

    with monkeypatch.context() as counted:
        counted.setattr(named.clockwork.executions, "between", counting)
        named.run(10)
    assert len(pages) == looks
    named.run(10)
    states = [execution.state for execution in reversed(named.clockwork.executions.list(named.job.job_id, 200, None))]
    assert states == [State.SUCCEEDED, *[State.SKIPPED] * skipped, State.SUCCEEDED]


def test_what_is_skipped_is_told_whole_though_the_queue_took_nothing_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(catch_up="none", max_fires=12)
    named.clockwork.clock.at += 150_500
    with monkeypatch.context() as full:
        full.setattr(
            named.clockwork.world.releases,
            "send",
            lambda releases, now: [Refused(index, False, "full") for index in range(len(releases))],
        )
        named.clockwork.poll_all()
    named.clockwork.clock.at += 20_000
    fired = named.run(180)
    skipped = [record.end.skipped for record in named.executions() if record.end.skipped is not None]
    assert len(fired) + sum(stretch.count for stretch in skipped) == 12


def test_what_was_sent_before_a_crash_is_not_skipped_and_the_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(catch_up="none", max_fires=12)
    send = named.clockwork.world.releases.send

    def die_after_three(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        send(releases[:3], now)
        raise SystemExit("the process dies")

    with monkeypatch.context() as dying, pytest.raises(SystemExit):
        dying.setattr(named.clockwork.world.releases, "send", die_after_three)
        named.clockwork.poll_all()
    assert named.run(35) == [10, 20, 30]
    named.clockwork.clock.at += 95_000
    fired = named.run(200)
    (skipped,) = [record.end.skipped for record in named.executions() if record.end.skipped is not None]
    assert (skipped.from_at - named.start, skipped.count) == (40_000, 12 - 3 - len(fired))


def test_a_stretch_that_has_grown_since_it_was_recorded_is_told_whole() -> None:
    named = Named(every_ms=60_000)
    now = named.clockwork.clock.at = named.start + 700_000
    world = named.clockwork.world
    until = now + 400_000
    assert world.shards.acquire(named.job.partition_id, "dies", now, until, edge_key(until)) is not None
    named.create(every_ms=60_000)  # a repeat releases only the fires of the job's first 900 s
    named.run(500)
    told = [(delivery.occurrence.due_at - named.start) // 1000 for delivery in named.clockwork.targets.delivered]
    stretches = [record.end.skipped for record in named.executions() if record.end.skipped is not None]
    for stretch in stretches:
        first = (stretch.from_at - named.start) // 1000
        told += range(first, first + stretch.count * 60, 60)
    assert len(stretches) == 2
    assert sorted(told) == list(range(60, 1_200, 60))


def test_an_ordered_job_without_a_sequence_is_the_first_of_its_instant() -> None:
    named = Named(ordering_key="order-17")
    assert occurrence_of(named.job, named.start).sequence == 0


def test_the_chains_of_a_page_share_what_may_be_taken_at_once() -> None:
    named = Named()
    pointer = first_pointer(named.job)
    assert pointer is not None
    row = pointer_row(named.job, pointer, named.start)
    visited = visit_rows(named.clockwork.world, [row, row], END, 5, named.clockwork.clock.at, Silence())
    assert [len(one.releases) for one in visited] == [5, 1]


@pytest.mark.parametrize(("after_ms", "missed"), [(-2, True), (-1, True), (0, False), (1, False)])
def test_what_a_pause_skips_stays_missed_and_what_its_end_released_never_is(after_ms: int, missed: bool) -> None:
    named = Named(catch_up="none")
    skips_until = named.start + 10_000
    job = msgspec.structs.replace(named.job, skips_until=skips_until, asked_at=skips_until + 5_000)
    due_at = skips_until + after_ms
    assert is_missed(job, Fire(due_at, due_at, 1), skips_until + 500_000) is missed


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_so_many_fires_and_no_more_are_taken_at_once(limit: int) -> None:
    named = Named()
    pointer = first_pointer(named.job)
    assert pointer is not None
    step = expand(named.job, pointer, END, named.start, limit)
    assert [(release.run_at - named.start) // 10_000 for release in step.releases] == [*range(1, limit + 1)]
    assert step.is_cut
    assert step.following is not None
    assert step.following.fire.due_at == named.start + 10_000 * (limit + 1)


def test_a_pointer_counts_only_under_its_jobs_series_and_partition() -> None:
    named = Named()
    pointer = first_pointer(named.job)
    assert pointer is not None
    assert pointer.counts_for(named.job, named.job.partition_id)
    assert not pointer.counts_for(named.job, "p999")
    for other in (
        msgspec.structs.replace(named.job, series="other"),
        msgspec.structs.replace(named.job, state=JobState.PAUSED),
    ):
        assert not pointer.counts_for(other, named.job.partition_id)


def test_pointers_of_two_series_never_share_a_row() -> None:
    named = Named()
    pointer = first_pointer(named.job)
    assert isinstance(pointer, Pointer)
    assert msgspec.structs.replace(pointer, series="other").key != pointer.key
    assert isinstance(named.clockwork.timeline.find([(named.job.partition_id, pointer.key)])[0], Row)


def test_where_an_old_chain_stands_is_found_without_a_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(every_ms=1_000, max_fires=10**9)
    monkeypatch.setattr(chains, "next_occurrence", None)
    years_ms = 5 * 365 * 86_400_000
    assert ordinal_at(named.job, named.start + years_ms) == years_ms // 1_000
    going_on = msgspec.structs.replace(
        named.job, chain_after_at=named.start + years_ms, chain_ordinal=years_ms // 1_000
    )
    assert [ordinal_at(going_on, named.start + at) for at in (-1, 0, 60_000, years_ms)] == [
        -1,
        0,
        60,
        years_ms // 1_000,
    ]


def test_a_chain_has_no_more_fires_than_it_may() -> None:
    named = Named(max_fires=3)
    assert [ordinal_at(named.job, named.start + seconds * 1_000) for seconds in (10, 30, 40, 10**6)] == [1, 3, 3, 3]
