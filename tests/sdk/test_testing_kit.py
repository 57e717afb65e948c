"""The testing kit: what is scheduled happens when and as often as the flows have it, in virtual time."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from clockwork_client import (
    Clockwork,
    Invalid,
    NotAllowed,
    NotFound,
    TooManyRequests,
    ecs,
    end,
    http,
    job,
    retry,
    sqs,
    step_functions,
    verify_webhook,
)
from clockwork_client.results import Job
from clockwork_client.targets import HttpTarget
from clockwork_client.testing import Answer, Delivery, VirtualClockwork
from clockwork_client.worker.fail import Fail

HOOK = http("https://example.com/hook")
STEADY = retry(max_attempts=3, initial_seconds=5, jitter="none")
QUEUE = "arn:aws:sqs:us-east-1:111111111111:jobs"


@pytest.fixture
def v() -> VirtualClockwork:
    return VirtualClockwork(at="2026-01-01T00:00:00Z")


@pytest.fixture
def acme(v: VirtualClockwork) -> Clockwork:
    return v.client("acme")


def times(v: VirtualClockwork) -> list[str]:
    """When each attempt began, to the millisecond."""
    return [f"{one.at:%m-%d %H:%M:%S.%f}"[:-3] for one in v.deliveries]


def states(cw: Clockwork, job_id: str) -> list[tuple[str, list[str]]]:
    """The state of each execution of a job, newest first, with those of its attempts."""
    return [(one.state, [each.state for each in one.attempts or ()]) for one in cw.executions.list(job_id)]


class TestSchedules:
    def test_a_job_is_delivered_at_its_instant_and_never_before(self, v: VirtualClockwork, acme: Clockwork) -> None:
        made = acme.schedule(http("https://example.com/hook", headers={"X-Shop": "7"}), {"order": 17}, in_=300)
        v.advance(minutes=4, seconds=59, milliseconds=999)
        assert (v.deliveries, states(acme, made.job_id)) == ([], [])
        v.advance(milliseconds=1)
        (one,) = v.deliveries
        assert (one.at, v.now) == (datetime(2026, 1, 1, 0, 5, tzinfo=UTC),) * 2
        assert (one.job_id, one.job_key, one.client_id, one.attempt) == (made.job_id, None, "acme", 1)
        assert (one.body, one.payload) == (b'{"order":17}', {"order": 17})
        assert isinstance(one.target, HttpTarget)
        assert one.target.url == "https://example.com/hook"
        assert {name: one.headers[name] for name in ("webhook-id", "x-shop", "content-type", "host")} == {
            "webhook-id": one.execution_id,
            "x-shop": "7",
            "content-type": "application/json",
            "host": "example.com",
        }
        assert states(acme, made.job_id) == [("SUCCEEDED", ["SUCCEEDED"])]

    def test_a_job_that_is_due_at_once_needs_no_tick(self, v: VirtualClockwork, acme: Clockwork) -> None:
        acme.schedule(HOOK, 1, in_=0)
        v.advance(milliseconds=0)
        assert times(v) == ["01-01 00:00:00.000"]

    def test_milliseconds_are_kept(self, v: VirtualClockwork, acme: Clockwork) -> None:
        for text in ("00:20:00.750", "00:20:00.250", "00:20:00.251"):
            acme.schedule(HOOK, 1, at=f"2026-01-01T{text}Z")
        v.run_until("2026-01-01T00:20:00.250Z")
        assert times(v) == ["01-01 00:20:00.250"]
        v.run_until(datetime(2026, 1, 1, 0, 21, tzinfo=UTC))
        assert times(v)[1:] == ["01-01 00:20:00.251", "01-01 00:20:00.750"]

    def test_a_fire_in_the_hour_that_is_left_out_comes_right_after_it(self) -> None:
        v = VirtualClockwork(at="2026-03-27T12:00:00Z")
        v.client("acme").schedule(HOOK, 1, cron="30 2 * * *", timezone="Europe/Berlin", key="nightly")
        v.run_until("2026-03-30T12:00:00Z")
        assert times(v) == ["03-28 01:30:00.000", "03-29 01:00:00.000", "03-30 00:30:00.000"]

    def test_a_fire_in_the_hour_that_comes_twice_comes_once(self) -> None:
        v = VirtualClockwork(at="2026-10-24T12:00:00Z")
        v.client("acme").schedule(HOOK, 1, cron="30 2 * * *", timezone="Europe/Berlin", key="nightly")
        v.run_until("2026-10-26T12:00:00Z")
        assert times(v) == ["10-25 00:30:00.000", "10-26 01:30:00.000"]

    def test_jobs_of_one_ordering_key_come_one_after_the_other(self, v: VirtualClockwork, acme: Clockwork) -> None:
        v.on_deliver(lambda one: 503 if one.attempt == 1 and one.payload == 1 else 200)
        for n in (1, 2, 3):
            acme.schedule(HOOK, n, at=f"2026-01-01T01:00:0{n}Z", ordering_key="order-17", retry=STEADY)
        v.run_until("2026-01-01T02:00:00Z")
        assert [(one.payload, one.attempt) for one in v.deliveries] == [(1, 1), (1, 2), (2, 1), (3, 1)]

    def test_a_quiet_year_passes_in_seconds(self, v: VirtualClockwork, acme: Clockwork) -> None:
        acme.schedule(HOOK, 1, cron="0 9 1 * *", timezone="UTC", key="monthly")
        began = time.process_time()
        v.advance(days=365)
        assert [one.at.month for one in v.deliveries] == [*range(1, 13)]
        assert time.process_time() - began < 30


class TestRetries:
    def test_attempts_follow_the_policy(self, v: VirtualClockwork, acme: Clockwork) -> None:
        v.on_deliver(lambda one: 503 if one.attempt < 3 else 200)
        made = acme.schedule(HOOK, 1, in_=60, retry=STEADY)
        v.advance(minutes=10)
        assert times(v) == ["01-01 00:01:00.000", "01-01 00:01:05.000", "01-01 00:01:15.000"]
        assert states(acme, made.job_id) == [("SUCCEEDED", ["FAILED", "FAILED", "SUCCEEDED"])]

    def test_what_fails_for_good_is_dead_and_can_be_redriven(self, v: VirtualClockwork, acme: Clockwork) -> None:
        v.on_deliver(lambda one: Answer(503, "no stock") if one.target == HOOK else 200)
        made = acme.schedule(HOOK, 1, in_=60, retry=STEADY, on_failure=http("https://example.com/failed"))
        v.advance(minutes=10)
        (dead,) = acme.dead
        assert (dead.job_id, dead.reason) == (made.job_id, "attempt 3 of 3 failed: answered 503")
        attempts = acme.executions.get(dead.execution_id).attempts or ()
        assert {one.response_excerpt for one in attempts} == {"no stock"}
        assert [one.target.raw["url"] for one in v.deliveries[3:]] == ["https://example.com/failed"]
        v.on_deliver(lambda _: 200)
        acme.executions.redrive(dead.execution_id)
        v.advance(minutes=1)
        assert acme.executions.get(dead.execution_id).state == "SUCCEEDED"

    def test_an_attempt_without_an_answer_timed_out(self, v: VirtualClockwork, acme: Clockwork) -> None:
        def answer(one: Delivery) -> Any:
            if one.attempt == 1:
                raise TimeoutError
            return TimeoutError() if one.attempt == 2 else ConnectionRefusedError("refused")

        v.on_deliver(answer)
        made = acme.schedule(HOOK, 1, in_=60, retry=STEADY)
        v.advance(minutes=10)
        assert states(acme, made.job_id) == [("DEAD", ["TIMED_OUT", "TIMED_OUT", "FAILED"])]

    @pytest.mark.parametrize(("status", "attempts"), [(400, 1), (301, 1), (429, 3), (500, 3), (204, 1)])
    def test_a_status_means_what_it_means_to_a_deployment(
        self, v: VirtualClockwork, acme: Clockwork, status: int, attempts: int
    ) -> None:
        v.on_deliver(lambda _: status)
        acme.schedule(HOOK, 1, in_=60, retry=STEADY)
        v.advance(minutes=10)
        assert len(v.deliveries) == attempts

    def test_retry_after_counts(self, v: VirtualClockwork, acme: Clockwork) -> None:
        v.on_deliver(lambda one: Answer(429, retry_after=90) if one.attempt == 1 else 200)
        acme.schedule(HOOK, 1, in_=60, retry=STEADY)
        v.advance(minutes=10)
        assert times(v) == ["01-01 00:01:00.000", "01-01 00:02:30.000"]

    def test_a_target_that_recovers_gets_what_was_parked_meanwhile(self, v: VirtualClockwork, acme: Clockwork) -> None:
        """Its circuit opens, what comes due is parked, probes find it well again, and sweeps unpark the rest."""
        v.on_deliver(lambda one: 503 if v.now.hour < 1 else 200)
        made = acme.schedule(HOOK, 1, every=20, key="often", retry=retry(max_attempts=20))
        v.run_until("2026-01-01T00:59:00Z")
        assert acme.clients.usage().parked.count > 20
        acme.jobs.pause(made.job_id)
        v.run_until("2026-01-01T04:00:00Z")
        # The pause skips the twelve fires that were released ahead of it.
        ends = Counter(one.state for one in acme.executions.list(made.job_id))
        assert ends == {"SUCCEEDED": 59 * 3, "SKIPPED": 12}
        assert acme.clients.usage().parked.count == 0


class TestClients:
    def test_a_rate_limit_spaces_deliveries(self, v: VirtualClockwork) -> None:
        acme = v.client("acme", maxRatePerSecond=1)
        for n in range(5):
            acme.schedule(HOOK, n, at="2026-01-01T01:00:00Z")
        v.run_until("2026-01-01T02:00:00Z")
        assert times(v) == [f"01-01 01:00:0{second}.000" for second in range(5)]
        assert sorted(one.payload for one in v.deliveries) == [*range(5)]

    def test_a_client_that_is_made_again_is_replaced(self, v: VirtualClockwork) -> None:
        acme = v.client("acme", maxRatePerSecond=1)
        assert v.client("acme", max_concurrency=7) is acme
        told = v.admin.clients.get("acme")
        assert (told.max_rate_per_second, told.max_concurrency) == (None, 7)

    def test_a_paused_client_gets_nothing_until_it_is_resumed(self, v: VirtualClockwork, acme: Clockwork) -> None:
        for minute in (1, 2, 3):
            acme.schedule(HOOK, minute, at=f"2026-01-01T01:0{minute}:00Z")
        v.run_until("2026-01-01T01:01:30Z")
        v.admin.clients.pause("acme", reason="migration")
        v.run_until("2026-01-03T01:00:00Z")
        assert [one.payload for one in v.deliveries] == [1]
        v.admin.clients.resume("acme")
        v.advance(minutes=2)
        assert sorted(one.payload for one in v.deliveries) == [1, 2, 3]

    @pytest.mark.parametrize(
        ("catch_up", "hours"), [("none", ["01:00", "04:00"]), ("latest", ["01:00", "03:30", "04:00"])]
    )
    def test_what_a_paused_job_missed_is_caught_up_as_it_asks(
        self, v: VirtualClockwork, acme: Clockwork, catch_up: Literal["none", "latest"], hours: list[str]
    ) -> None:
        made = acme.schedule(HOOK, 1, cron="0 * * * *", timezone="UTC", key="hourly", catch_up=catch_up)
        v.run_until("2026-01-01T01:30:00Z")
        acme.jobs.pause(made.job_id, "migration")
        v.run_until("2026-01-01T03:30:00Z")
        acme.jobs.resume(made.job_id)
        v.run_until("2026-01-01T04:30:00Z")
        assert [f"{one.at:%H:%M}" for one in v.deliveries] == hours

    def test_a_dry_run_changes_nothing(self, v: VirtualClockwork, acme: Clockwork) -> None:
        job = acme.schedule(HOOK, 1, key="tick", every=60)
        tried = acme.jobs.patch(job.job_id, {"schedule": {"every": {"seconds": 30}}}, dry_run=True)
        assert (tried.dry_run, tried.timing_changes, len(tried.next_fires or ())) == (True, True, 10)
        assert acme.jobs.pause(job.job_id, dry_run=True).state == "PAUSED"
        assert acme.jobs.cancel(job.job_id, dry_run=True).result == "cancelled"
        acme.schedule(HOOK, 2, in_=5, dry_run=True)
        v.advance(seconds=61)
        assert [one.payload for one in v.deliveries] == [1]

    def test_a_cancelled_job_is_not_delivered_though_it_is_released(self, v: VirtualClockwork, acme: Clockwork) -> None:
        kept, cancelled = (acme.schedule(HOOK, n, at="2026-01-01T01:00:00Z") for n in (1, 2))
        v.run_until("2026-01-01T00:59:59Z")
        assert acme.jobs.cancel(cancelled.job_id).result == "cancelled"
        v.run_until("2026-01-01T02:00:00Z")
        assert [one.job_id for one in v.deliveries] == [kept.job_id]
        assert states(acme, cancelled.job_id) == [("CANCELLED", [])]
        assert acme.jobs.cancel(kept.job_id).result == "too_late"

    def test_a_client_sees_its_own_work_alone(self, v: VirtualClockwork, acme: Clockwork) -> None:
        made = acme.schedule(HOOK, 1, in_=60)
        globex = v.client("globex")
        with pytest.raises(NotFound):
            globex.jobs.get(made.job_id)
        with pytest.raises(NotAllowed):
            globex.clients.get("acme")
        assert v.admin.whoami().admin is True

    def test_webhooks_are_signed_with_the_secret_that_the_client_names(self) -> None:
        secret = "whsec_c2VjcmV0IG9mIHRoZSBjbGllbnQ="
        v = VirtualClockwork(signing_secrets={"clockwork/acme": secret})
        acme = v.client("acme", signingSecrets=["clockwork/acme"])
        acme.schedule(HOOK, {"order": 17}, in_=60)
        v.advance(minutes=2)
        (one,) = v.deliveries
        context = verify_webhook(one.headers, one.body, [secret], now=one.at.timestamp())
        assert (context.execution_id, context.attempt) == (one.execution_id, 1)
        with pytest.raises(Invalid) as refused:
            v.client("acme", signingSecrets=["clockwork/other"])
        assert [fault.pointer for fault in refused.value.faults] == ["/signingSecrets/0"]

    def test_a_queue_is_a_target_once_it_is_allowed(self, v: VirtualClockwork, acme: Clockwork) -> None:
        with pytest.raises(Invalid):
            acme.schedule(sqs(QUEUE), 1, in_=60)
        v.client("acme", allowedQueueArns=[QUEUE])
        acme.schedule(sqs(QUEUE), 1, in_=60)
        v.advance(minutes=2)
        assert [(one.target.raw, one.headers) for one in v.deliveries] == [({"type": "sqs", "queueArn": QUEUE}, {})]

    def test_a_refused_create_waits_in_virtual_time(self, v: VirtualClockwork) -> None:
        acme = v.client("acme", jobsPerDay=1)
        acme.schedule(HOOK, 1, in_=0)
        with pytest.raises(TooManyRequests):
            acme.schedule(HOOK, 2, in_=0)
        began, patient = v.now, v.client("globex", createsPerSecond=4)
        for n in range(20):
            patient.schedule(HOOK, n, in_=3_600)
        assert 0 < (v.now - began).total_seconds() < 30
        assert len(v.scheduled()) == 20


class TestReceivers:
    def test_a_receiver_may_schedule_in_turn_and_in_bulk(self, v: VirtualClockwork, acme: Clockwork) -> None:
        def receive(one: Delivery) -> int:
            if one.body == b"begin":
                made = acme.schedule_many((job(HOOK, n, in_=60) for n in range(1_200)), key="herd")
                assert [each.error for each in made] == [None] * 1_200
            return 200

        acme.schedule(HOOK, "begin", in_=10)
        v.on_deliver(receive)
        v.advance(minutes=5)
        assert len(v.deliveries) == 1_201

    def test_a_receiver_may_do_so_while_a_client_waits_to_repeat_a_call(self, v: VirtualClockwork) -> None:
        """The delivery then takes place inside a call of the API, whose lock the threads of the receiver need."""
        acme, slow = v.client("acme"), v.client("slow", createsPerSecond=4)
        herd: list[Exception | None] = []

        def receive(one: Delivery) -> int:
            if one.payload == 0:
                herd.extend(each.error for each in acme.schedule_many(job(HOOK, n, in_=60) for n in range(1, 1_001)))
            return 200

        v.on_deliver(receive)
        acme.schedule(HOOK, 0, at="2026-01-01T00:00:00.001Z")
        for n in range(20):
            slow.schedule(HOOK, n + 1, in_=3_600)
        assert (len(herd), set(herd)) == (1_000, {None})

    def test_a_failed_assertion_of_a_receiver_ends_the_run(self, v: VirtualClockwork, acme: Clockwork) -> None:
        def receive(one: Delivery) -> int:
            assert one.payload == 2, "not what was ordered"
            return 200

        v.on_deliver(receive)
        acme.schedule(HOOK, 1, in_=10)
        with pytest.raises(AssertionError, match="not what was ordered"):
            v.advance(minutes=5)
        assert f"{v.now:%H:%M:%S}" == "00:00:10"

    @pytest.mark.parametrize(("answer", "error"), [(None, TypeError), (True, TypeError), (99, ValueError)])
    def test_what_is_no_answer_is_told(
        self, v: VirtualClockwork, acme: Clockwork, answer: Any, error: type[Exception]
    ) -> None:
        v.on_deliver(lambda _: answer)
        acme.schedule(HOOK, 1, in_=10)
        with pytest.raises(error):
            v.advance(minutes=5)

    def test_time_passes_by_the_test_alone(self, v: VirtualClockwork, acme: Clockwork) -> None:
        def receive(_: Delivery) -> int:
            v.advance(seconds=1)
            return 200

        v.on_deliver(receive)
        acme.schedule(HOOK, 1, in_=10)
        with pytest.raises(RuntimeError, match="let time pass"):
            v.advance(minutes=5)

    @pytest.mark.parametrize("at", ["2025-12-31T23:59:59Z", "2026-01-02", datetime(2026, 1, 2)])  # noqa: DTZ001
    def test_an_instant_that_is_past_or_none_is_refused(self, v: VirtualClockwork, at: Any) -> None:
        with pytest.raises(ValueError, match=r"past|RFC 3339|time zone"):
            v.run_until(at)

    def test_two_runs_are_alike(self) -> None:
        def run() -> list[Delivery]:
            v = VirtualClockwork()
            v.on_deliver(lambda one: 503 if one.attempt < 3 else 200)
            acme = v.client("acme")
            for n in range(20):
                acme.schedule(HOOK, n, in_=n)
            # The circuit of the host opens, and its twenty jobs take turns to probe.
            v.advance(hours=3)
            return v.deliveries

        assert run() == run()
        assert len(run()) == 60


class TestAssertScheduled:
    def test_it_finds_by_key_instant_and_part_of_the_payload(self, v: VirtualClockwork, acme: Clockwork) -> None:
        acme.schedule(HOOK, {"order": 17, "lines": [1, 2]}, in_=86_400 * 300)
        acme.schedule(HOOK, {"kind": {"a": 1, "b": 2}}, cron="0 3 * * *", timezone="Europe/Berlin", key="nightly")
        found = v.assert_scheduled(key="nightly", at="2026-01-04T02:00:00Z", payload={"kind": {"b": 2}})
        assert (found.client_id, found.key, f"{found.at:%d %H}") == ("acme", "nightly", "04 02")
        assert v.assert_scheduled(payload={"order": 17}).at == datetime(2026, 10, 28, tzinfo=UTC)
        wrong: list[dict[str, Any]] = [
            {"key": "night"},
            {"at": "2026-01-04T02:00:01Z"},
            {"payload": {"order": 18}},
            {"payload": {"lines": [1]}},
            {"key": "nightly", "payload": {"order": 17}},
        ]
        for asked in wrong:
            with pytest.raises(AssertionError, match=r"key='nightly'.*'a': 1"):
                v.assert_scheduled(**asked)

    def test_what_is_cancelled_or_done_is_not_scheduled(self, v: VirtualClockwork, acme: Clockwork) -> None:
        made = acme.schedule(HOOK, 1, in_=60)
        acme.schedule(HOOK, 2, in_=60)
        acme.jobs.cancel(made.job_id)
        assert [one.payload for one in v.scheduled()] == [2]
        v.advance(minutes=2)
        assert v.scheduled() == []


def test_the_plugin_has_the_fixtures(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "from clockwork_client import http\n"
        "def test_reminder(clockwork, assert_scheduled):\n"
        "    clockwork.client('acme').schedule(http('https://example.com/'), {'n': 1}, in_=60, key='k')\n"
        "    assert_scheduled(key='k', at='2026-01-01T00:01:00Z', payload={'n': 1})\n"
        "def test_each_has_its_own(clockwork, assert_scheduled):\n"
        "    assert_scheduled(key='k')\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "clockwork_client.testing.plugin", "-p", "no:cacheprovider"]
    ran = subprocess.run([*command, str(tmp_path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "1 failed, 1 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "nothing is scheduled with key='k'" in ran.stdout


def test_what_is_scheduled_does_not_depend_on_how_far_fires_were_released_ahead() -> None:
    clockwork = VirtualClockwork()
    acme = clockwork.client("acme")
    target = http("https://example.com/hook")
    acme.schedule(target, 1, every=60, key="minutely")
    clockwork.advance(seconds=400)
    acme.schedule(target, 1, every=60, key="three", max_fires=3)
    clockwork.advance(seconds=70)
    for left in (2, 1):
        by_key = Counter(one.key for one in clockwork.scheduled())
        assert by_key == {"minutely": 10, "three": left}
        clockwork.assert_scheduled(key="three")
        clockwork.advance(seconds=60)
    with pytest.raises(AssertionError, match="nothing is scheduled"):
        clockwork.assert_scheduled(key="three")
    assert sum(one.job_key == "three" for one in clockwork.deliveries) == 3


MACHINE = "arn:aws:states:us-east-1:111111111111:stateMachine:orders"


def ending(**given: Any) -> tuple[VirtualClockwork, Job]:
    clockwork = VirtualClockwork()
    cw = clockwork.client("acme", allowed_target_arns=[MACHINE])
    return clockwork, cw.schedule(step_functions(MACHINE), {}, in_=1, completion=end(**given))


def test_a_state_machine_runs_until_the_test_says_that_it_has_ended() -> None:
    clockwork, job = ending()
    said: list[Any] = [None, None, {"pages": 12}]
    clockwork.on_end(lambda delivery: said.pop(0))
    clockwork.advance(minutes=3)
    assert clockwork.run(job).state == "RUNNING"
    clockwork.advance(minutes=3)
    assert clockwork.run(job).state == "SUCCEEDED"
    report = clockwork.admin.executions.get(clockwork.run(job).execution_id).report
    assert report is not None
    assert report.result == {"pages": 12}


def test_a_state_machine_that_fails_is_tried_again_and_one_that_runs_on_is_stopped() -> None:
    clockwork, job = ending(timeout_seconds=300)
    clockwork.on_end(lambda delivery: Fail("no paper") if delivery.attempt == 1 else None)
    clockwork.advance(minutes=10)
    attempts = clockwork.admin.executions.get(clockwork.run(job).execution_id).attempts
    assert [(one.state, one.error) for one in attempts][:2] == [
        ("FAILED", "no paper"),
        ("FAILED", "ABORTED: it was stopped"),
    ]


def test_a_task_of_ecs_ends_as_the_test_says() -> None:
    clockwork = VirtualClockwork()
    cw = clockwork.client("acme", allowed_target_arns=["arn:aws:ecs:us-east-1:*"])
    arn = "arn:aws:ecs:us-east-1:111111111111:{}"
    task = ecs(arn.format("task-definition/report"), cluster_arn=arn.format("cluster/jobs"), container="app")
    job = cw.schedule(task, {"pages": [1]}, in_=1, completion=end())
    clockwork.on_end(lambda delivery: {"exitCode": 0, "exitCodes": {"app": 0}})
    clockwork.advance(minutes=2)
    report = clockwork.admin.executions.get(clockwork.run(job).execution_id).report
    assert report is not None
    assert (report.state, report.result["exitCode"]) == ("SUCCEEDED", 0)


def test_without_a_word_of_the_test_a_state_machine_ends_well_a_minute_later() -> None:
    clockwork, job = ending()
    clockwork.advance(minutes=2)
    assert clockwork.run(job).state == "SUCCEEDED"
