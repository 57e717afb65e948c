"""Copies of tickets stay few: a ticket of an attempt that has ended becomes none of the next attempt."""

from __future__ import annotations

import pytest

from clockwork.domain.executions import State
from tests.handlers.fleet import POOL, TARGET, Worker, claim_of, with_pool
from tests.handlers.handlers import Api
from tests.support.examples import ALICE

RETRIES = {"maxAttempts": 24, "backoff": "fixed", "initialSeconds": 8, "maxSeconds": 8, "jitter": "none"}


def _create(api: Api, count: int) -> None:
    for _ in range(count):
        job = {"clientId": "acme", "schedule": {"delaySeconds": 0}, "target": TARGET, "retryPolicy": RETRIES}
        assert api.call("POST", "/v1/jobs", job, caller=ALICE).status == 201
    api.clockwork.poll_all()


def _pass(api: Api, ms: int) -> None:
    api.clockwork.run_until(api.clockwork.clock.at + ms)


@pytest.mark.long
def test_jobs_that_fail_at_once_take_at_most_two_tickets_an_attempt() -> None:
    api = with_pool()
    _create(api, 30)
    worker, queue = Worker(api), api.clockwork.pool_queues.of(POOL)
    starts = handed = 0
    # One worker has just enough time for them, so tickets wait a little, and copies meet attempts that have ended.
    for _ in range(2_400):
        if messages := queue.receive(10):
            handed += len(messages)
            begun = [one for one in worker.claim(*map(claim_of, messages)) if one["outcome"] == "start"]
            starts += len(begun)
            for one in begun:
                assert worker.tell(one["token"], "fail", error="again") == "ok"
        _pass(api, 100)
    assert {record.state for record in api.clockwork.executions.all()} == {State.DEAD}
    assert starts == 30 * 24
    assert handed <= 2 * starts


def test_a_used_ticket_that_is_shown_again_and_again_makes_no_other() -> None:
    api = with_pool()
    _create(api, 1)
    worker, queue = Worker(api), api.clockwork.pool_queues.of(POOL)
    (message,) = queue.receive(10)
    (begun,) = worker.claim(claim_of(message))
    assert worker.tell(begun["token"], "fail", error="again") == "ok"
    _pass(api, 1_000)
    before = len(queue.messages)
    for _ in range(20):
        (answer,) = worker.claim({**claim_of(message), "receiptHandle": "no receipt"})
        assert answer["outcome"] == "gone"
    _pass(api, 1_000)
    assert len(queue.messages) == before


def test_what_is_claimed_again_behind_a_change_of_its_job_goes_on_once_its_watch_has_found_nobody_at_work() -> None:
    api = with_pool()
    job = {"clientId": "acme", "jobKey": "nightly", "schedule": {"delaySeconds": 0}, "target": TARGET}
    made = api.call("POST", "/v1/jobs", job, caller=ALICE)
    api.clockwork.poll_all()
    worker, queue = Worker(api), api.clockwork.pool_queues.of(POOL)
    (message,) = queue.receive(10)
    asked = claim_of(message)
    # Its answer is lost. Its message was deleted by it.
    assert [one["outcome"] for one in worker.claim(asked)] == ["start"]
    assert not queue.messages
    wanted = {"schedule": {"delaySeconds": 0}, "target": {**TARGET, "timeoutSeconds": 700}}
    assert api.call("PUT", f"/v1/jobs/{made.body['jobId']}", wanted, caller=ALICE).status == 200
    assert [one["outcome"] for one in worker.claim(asked)] == ["gone"]
    _pass(api, 180_000)
    assert [one["outcome"] for one in worker.take()] == ["start"]
