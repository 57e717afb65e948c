"""The plan of the demonstration's jobs."""

import random
from collections import Counter

from local.demo.plan import COUNTS, WINDOWS_MS, Channel, Kind, plan, warm_up_wave


def test_a_plan_has_as_many_jobs_of_each_kind_as_it_says() -> None:
    assert Counter(job.kind for job in plan(random.Random(1))) == COUNTS


def test_every_job_is_due_within_the_window_of_its_kind() -> None:
    for job in plan(random.Random(2)):
        first, last = WINDOWS_MS[job.kind]
        assert first <= job.delay_ms < last


def test_the_jobs_that_only_a_tick_can_find_are_created_last() -> None:
    kinds = [job.kind for job in plan(random.Random(3))]
    assert Kind.LATER not in kinds[: -COUNTS[Kind.LATER]]


def test_webhooks_and_queue_messages_are_both_planned_and_only_webhooks_fail() -> None:
    jobs = plan(random.Random(4))
    assert {job.channel for job in jobs if job.kind is Kind.SOON} == {Channel.WEBHOOK, Channel.QUEUE}
    assert {job.channel for job in jobs if job.kind is Kind.FLAKY} == {Channel.WEBHOOK}


def test_plans_differ_by_their_randomness_only() -> None:
    assert plan(random.Random(5)) == plan(random.Random(5))
    assert plan(random.Random(5)) != plan(random.Random(6))


def test_a_warm_up_wave_is_in_flight_at_once() -> None:
    assert [job.number for job in warm_up_wave()] == list(range(10))
    assert len({job.delay_ms for job in warm_up_wave()}) == 1
