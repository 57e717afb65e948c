"""Ordered jobs on the deployed stack: real FIFO queues, and a long-running poller."""

from __future__ import annotations

import json
import time

from tests.e2e.hooks import Hook, Hooks
from tests.e2e.tenant import Tenant

EVERY_SECOND = {"backoff": "fixed", "initialSeconds": 1, "jitter": "none"}


def received(hook: Hook, count: int) -> list[int]:
    return [json.loads(arrival.body) for arrival in hook.await_arrivals(count)]


def test_jobs_of_a_key_come_by_due_instant_however_they_were_created(acme: Tenant, hook: Hook) -> None:
    began_at = time.time()
    for number in (3, 1, 2):
        acme.create(hook, payload=number, orderingKey="by due instant", schedule={"delaySeconds": 3 + number})
    assert received(hook, 3) == [1, 2, 3]
    assert [arrival.at - began_at * 1000 >= 3_000 + 1_000 * n for n, arrival in enumerate(hook.arrivals, 1)] == [
        True
    ] * 3


def test_followers_wait_for_a_head_that_fails_and_another_key_does_not(acme: Tenant, webhooks: Hooks) -> None:
    failing, other = webhooks.hook(failures=1), webhooks.hook()
    for number in (1, 2):
        acme.create(
            failing,
            payload=number,
            orderingKey="fails",
            sequence=number,
            retryPolicy=EVERY_SECOND,
            schedule={"delaySeconds": 2},
        )
    acme.create(other, payload=9, orderingKey="goes on", schedule={"delaySeconds": 2})
    assert received(failing, 4) == [1, 1, 2, 2]
    assert received(other, 1) == [9]
    assert other.arrivals[0].at < failing.arrivals[3].at


def test_the_original_wire_format_delivers(acme: Tenant, hook: Hook) -> None:
    at = int(time.time() * 1000) + 2_000
    body = {
        "clientId": "acme",
        "scheduleKey": "order1-create",
        "orderingKey": "order1",
        "taskData": "exactly this",
        "delivery": {"url": hook.url},
        "scheduleTime": at,
    }
    answer = acme.api.request("POST", "/schedule", body)
    assert (answer.status, answer.body) == (200, "order1")
    (arrival,) = hook.await_arrivals(1)
    assert (arrival.body, arrival.at >= at) == (b"exactly this", True)
