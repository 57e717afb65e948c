"""The testing kit beyond jobs: missed polls, expiry, rules of zones, audits, lasting attempts, fleets, races."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

import pytest

from clockwork_client import Clockwork, Conflict, NotFound, http, retry
from clockwork_client import pool as to_pool
from clockwork_client.testing import Answer, VirtualClockwork
from clockwork_client.testing.sides import Turns
from clockwork_client.worker import Cancelled, Pool

HOOK = http("https://example.com/hook")
ONCE = retry(max_attempts=1)


@pytest.fixture
def v() -> VirtualClockwork:
    return VirtualClockwork(at="2026-01-01T00:00:00Z", pools=["etl"])


@pytest.fixture
def acme(v: VirtualClockwork) -> Clockwork:
    return v.client("acme", allowed_pools=["etl"])


def at(v: VirtualClockwork) -> list[str]:
    """When each attempt began."""
    return [f"{one.at:%d %H:%M:%S}" for one in v.deliveries]


def test_a_clockwork_shows_its_time(v: VirtualClockwork) -> None:
    assert repr(v) == "<VirtualClockwork at 2026-01-01T00:00:00Z, 0 deliveries>"
    assert repr(v.admin.jobs) == "<Jobs>"


class TestPolls:
    """`miss_polls`: as while no poller runs."""

    def test_what_is_released_already_is_in_time_and_the_rest_late(self, v: VirtualClockwork, acme: Clockwork) -> None:
        acme.schedule(HOOK, "soon", at="2026-01-01T01:02:00Z")
        acme.schedule(HOOK, "later", at="2026-01-01T01:20:00Z")
        v.run_until("2026-01-01T01:00:00Z")
        v.miss_polls(minutes=30)
        v.advance(hours=1)
        assert at(v) == ["01 01:02:00", "01 01:30:00"]

    @pytest.mark.parametrize(("catch_up", "count"), [("all", 4), ("latest", 2), ("none", 1)])
    def test_a_job_that_recurs_catches_up_as_it_asks(
        self, v: VirtualClockwork, acme: Clockwork, catch_up: Any, count: int
    ) -> None:
        acme.schedule(HOOK, cron="0 * * * *", key="hourly", catch_up=catch_up)
        v.run_until("2026-01-01T01:30:00Z")
        v.miss_polls(hours=3)
        v.run_until("2026-01-01T04:45:00Z")
        assert len(v.deliveries) == count

    def test_an_ordered_job_and_one_that_is_due_at_once_wait_too(self, v: VirtualClockwork, acme: Clockwork) -> None:
        v.miss_polls(minutes=10)
        acme.schedule(HOOK, 1, in_=60, ordering_key="k", sequence=1)
        acme.schedule(HOOK, 2, in_=60, ordering_key="k", sequence=2)
        v.advance(minutes=9)
        assert v.deliveries == []
        v.advance(minutes=2)
        assert [one.payload for one in v.deliveries] == [1, 2]

    def test_an_outage_longer_than_rows_are_kept_loses_them(self, v: VirtualClockwork, acme: Clockwork) -> None:
        acme.schedule(HOOK, at="2026-01-01T12:00:00Z")
        v.miss_polls(days=5)
        v.advance(days=6)
        assert v.deliveries == []


def test_records_expire_as_long_after_their_end_as_the_client_asks(v: VirtualClockwork) -> None:
    short, long = v.client("short", retention_days=31), v.client("long", retention_days=90)
    jobs = [(cw, cw.schedule(HOOK, in_=1).job_id) for cw in (short, long)]
    v.advance(days=20)
    assert [len(list(cw.executions.list(job_id))) for cw, job_id in jobs] == [1, 1]
    v.advance(days=20)
    assert len(list(long.executions.list(jobs[1][1]))) == 1
    with pytest.raises(NotFound):
        list(short.executions.list(jobs[0][1]))


def test_new_rules_of_a_zone_move_the_fires_that_are_not_released(v: VirtualClockwork, acme: Clockwork) -> None:
    acme.schedule(HOOK, cron="0 9 * * *", timezone="Europe/Berlin", key="report")
    v.advance(days=2)
    v.rules({"Europe/Berlin": timezone(timedelta(hours=3))})
    assert v.audit().repaired == 1
    assert [f"{one.at:%d %H}" for one in v.scheduled()][:2] == ["03 06", "04 06"]
    v.advance(days=2)
    assert at(v) == ["01 08:00:00", "02 08:00:00", "03 06:00:00", "04 06:00:00"]
    assert [
        one.at.hour for one in acme.jobs.preview(cron="0 9 * * *", timezone="Europe/Berlin", count=1).next_fires
    ] == [6]
    v.rules({})
    assert [
        one.at.hour for one in acme.jobs.preview(cron="0 9 * * *", timezone="Europe/Berlin", count=1).next_fires
    ] == [8]


def test_an_audit_looks_at_every_job_and_mends_a_lost_fire(v: VirtualClockwork, acme: Clockwork) -> None:
    for number in range(3):
        acme.schedule(HOOK, cron="0 * * * *", key=f"job-{number}")
    assert (v.audit().audited, v.audit().repaired) == (3, 0)
    v.miss_polls(days=4)
    v.advance(days=5)
    v.deliveries.clear()
    assert v.audit().repaired == 3
    v.advance(hours=2)
    assert {one.job_key for one in v.deliveries} == {"job-0", "job-1", "job-2"}


class TestLastingAttempts:
    """`Answer(takes=...)`: an attempt that takes time."""

    def test_attempts_of_one_batch_last_side_by_side(self, v: VirtualClockwork, acme: Clockwork) -> None:
        v.on_deliver(lambda one: Answer(takes=timedelta(seconds=one.payload)))
        jobs = [acme.schedule(HOOK, seconds, at="2026-01-01T01:00:00Z").job_id for seconds in (3, 1)]
        v.run_until("2026-01-01T02:00:00Z")
        ended = [next(iter(acme.executions.list(job))).attempts[0].ended_at for job in jobs]
        assert at(v) == ["01 01:00:00"] * 2
        assert [f"{one:%H:%M:%S}" for one in ended if one] == ["01:00:03", "01:00:01"]

    def test_one_that_takes_too_long_times_out(self, v: VirtualClockwork, acme: Clockwork) -> None:
        v.on_deliver(lambda _: Answer(takes=11))
        slow = http("https://example.com/", timeout_seconds=10)
        job = acme.schedule(slow, in_=60, retry=ONCE)
        v.advance(minutes=2)
        (execution,) = acme.executions.list(job.job_id)
        assert (execution.state, execution.reason) == ("DEAD", "attempt 1 of 1 failed: no answer within 10 s")

    def test_a_cap_of_attempts_at_once_counts_them(self, v: VirtualClockwork) -> None:
        capped = v.client("capped", max_concurrency=2)
        v.on_deliver(lambda _: Answer(takes=5))
        for number in range(4):
            capped.schedule(HOOK, number, at="2026-01-01T01:00:00Z")
        v.run_until("2026-01-01T01:05:00Z")
        first = [one for one in v.deliveries if f"{one.at:%M:%S}" == "00:00"]
        assert (len(first), len(v.deliveries)) == (2, 4)


class TestFleets:
    """`work(pool, workers=, concurrency=, takes=)` and `drain`."""

    def test_a_pool_that_is_none_or_has_no_name_here_is_told(self, v: VirtualClockwork) -> None:
        with pytest.raises(TypeError, match=r"Pool\('etl'\)"):
            v.work("etl")  # type: ignore[arg-type]
        with pytest.raises(LookupError, match=r"VirtualClockwork\(pools=\['other'\]\)"):
            v.work(Pool("other"))

    def test_slots_bound_what_runs_at_once(self, v: VirtualClockwork, acme: Clockwork) -> None:
        pool, done = Pool("etl"), list[str]()
        pool.handler("work")(lambda *_: done.append(f"{v.now:%M:%S}"))
        v.work(pool, workers=2, concurrency=2, takes=timedelta(minutes=2))
        for number in range(6):
            acme.schedule(to_pool("etl", "work"), number, in_=60)
        v.advance(minutes=10)
        assert done == ["03:00"] * 4 + ["05:00"] * 2

    def test_while_all_priorities_have_work_they_share_the_slots(self, v: VirtualClockwork, acme: Clockwork) -> None:
        pool, done = Pool("etl"), list[str]()
        pool.handler("work")(lambda payload, _: done.append(payload))
        v.work(pool, takes=1)
        for _ in range(20):
            for priority in ("low", "normal", "high"):
                acme.schedule(to_pool("etl", "work", priority=priority), priority, in_=60)
        v.advance(minutes=10)
        assert len(done) == 60
        assert [done[:13].count(one) for one in ("high", "normal", "low")] == [8, 4, 1]

    def test_a_long_attempt_keeps_its_claim_by_heartbeats(self, v: VirtualClockwork, acme: Clockwork) -> None:
        pool, seen = Pool("etl"), list[int]()
        pool.handler("work")(lambda _, ctx: seen.append(ctx.attempt))
        v.work(pool, takes=lambda payload: payload)
        acme.schedule(to_pool("etl", "work", timeout_seconds=7_200), 3_600, in_=0)
        v.advance(hours=2)
        assert seen == [1]

    def test_one_beyond_its_deadline_is_lost_to_its_worker(self, v: VirtualClockwork, acme: Clockwork) -> None:
        pool, seen = Pool("etl"), list[int]()
        pool.handler("work")(lambda _, ctx: seen.append(ctx.attempt))
        v.work(pool, takes=600)
        job = acme.schedule(to_pool("etl", "work", timeout_seconds=300), in_=0, retry=ONCE)
        v.advance(hours=1)
        assert (seen, [one.state for one in acme.executions.list(job.job_id)]) == ([], ["DEAD"])

    def test_a_drain_hands_back_what_another_fleet_goes_on_with(self, v: VirtualClockwork, acme: Clockwork) -> None:
        pool, done = Pool("etl"), list[str]()
        pool.handler("work")(lambda *_: done.append(f"{v.now:%M:%S}"))
        v.work(pool, takes=120)
        job = acme.schedule(to_pool("etl", "work"), in_=60)
        v.advance(minutes=2)
        assert v.drain(pool) == 1
        v.advance(minutes=5)
        assert done == []
        v.work(pool, takes=120)
        v.advance(minutes=5)
        assert done == ["09:00"]
        (execution,) = acme.executions.list(job.job_id)
        assert [one.state for one in execution.attempts or ()] == ["HANDED_BACK", "SUCCEEDED"]

    def test_a_cancel_reaches_a_handler_at_the_next_heartbeat(self, v: VirtualClockwork, acme: Clockwork) -> None:
        pool, told = Pool("etl"), list[str]()

        @pool.handler("work")
        def work(_: Any, ctx: Any) -> None:
            try:
                ctx.heartbeat()
            except Cancelled:
                told.append(f"{v.now:%M}")
                raise

        v.work(pool, takes=3_000)
        job = acme.schedule(to_pool("etl", "work"), in_=0)
        v.advance(minutes=5)
        acme.jobs.cancel(str(job.job_id))
        v.advance(minutes=5)
        assert told == ["05"]
        assert [one.state for one in acme.executions.list(str(job.job_id))] == ["CANCELLED"]


class TestSideBySide:
    """`side_by_side`: requests that meet."""

    def test_two_creates_under_one_key_are_one_job(self, v: VirtualClockwork, acme: Clockwork) -> None:
        one, other = v.side_by_side(*[lambda: acme.schedule(HOOK, cron="0 * * * *", key="k")] * 2)
        assert one.job_id == other.job_id
        v.advance(hours=1)
        assert len(v.deliveries) == 1

    def test_of_two_changes_of_one_revision_one_is_refused(self, v: VirtualClockwork, acme: Clockwork) -> None:
        job = acme.schedule(HOOK, cron="0 * * * *", key="k")
        results = v.side_by_side(
            lambda: acme.jobs.patch(job.job_id, {"payload": 1}, if_revision=1),
            lambda: acme.jobs.patch(job.job_id, {"payload": 2}, if_revision=1),
        )
        assert sorted(type(one).__name__ for one in results) == ["Conflict", "Job"]
        assert acme.jobs.get(job.job_id).revision == 2
        assert any(isinstance(one, Conflict) for one in results)

    def test_they_meet_between_their_reads_and_writes_and_in_the_same_way_each_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        passed, pass_on = list[int](), Turns.pass_on

        def noted(turns: Turns) -> None:
            passed.append(turns._own.number)
            pass_on(turns)

        monkeypatch.setattr(Turns, "pass_on", noted)

        def orders() -> list[int]:
            passed.clear()
            v = VirtualClockwork(at="2026-01-01T00:00:00Z")
            acme = v.client("acme")
            jobs = acme.schedule(HOOK, every=60, key="a"), acme.schedule(HOOK, every=60, key="b")
            v.side_by_side(*(lambda one=one: acme.jobs.run(one.job_id) for one in jobs))
            return list(passed)

        first = orders()
        assert first[:6] == [0, 1] * 3
        assert first == orders()

    def test_what_one_raises_is_its_result(self, v: VirtualClockwork, acme: Clockwork) -> None:
        missing, job = v.side_by_side(lambda: acme.jobs.get("nonsense"), lambda: acme.schedule(HOOK, in_=1))
        assert isinstance(missing, NotFound)
        assert job.job_id
