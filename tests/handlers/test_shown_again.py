"""Tickets that are shown again, and permits behind them: no more copies, and no attempt without its permit."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from clockwork.domain.clients import Client
from tests.handlers.fleet import POOL, TARGET, Worker, claim_of, with_pool
from tests.handlers.handlers import Api
from tests.support.examples import ALICE


def create(api: Api, **more: Any) -> str:
    wanted = {"clientId": "acme", "schedule": {"delaySeconds": 0}, "target": TARGET, **more}
    answer = api.call("POST", "/v1/jobs", wanted, caller=ALICE)
    assert answer.status == 201, answer.text
    return str(answer.body["jobId"])


def text_of(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).isoformat().replace("+00:00", "Z")


def test_the_ticket_of_a_run_that_waits_for_others_is_one_however_often_an_old_copy_is_shown() -> None:
    api = with_pool()
    clockwork, worker = api.clockwork, Worker(api)
    target = {**TARGET, "timeoutSeconds": 36_000}
    schedule = {"every": {"seconds": 3_600}, "overlap": "skip"}
    job_id = create(api, jobKey="k", schedule=schedule, target=target)
    assert api.call("POST", f"/v1/jobs/{job_id}/run", {}, caller=ALICE).status == 202
    clockwork.poll_all()
    clockwork.run_until(clockwork.clock.at + 1_000)
    (start,) = worker.take()
    assert start["outcome"] == "start"
    now = clockwork.clock.at
    span = {"from": text_of(now - 3 * 3_600_000), "to": text_of(now - 2 * 3_600_000 - 1), "maxPerSecond": 5}
    assert api.call("POST", f"/v1/jobs/{job_id}/backfill", span, caller=ALICE).status == 202
    clockwork.poll_all()
    clockwork.run_until(clockwork.clock.at + 2_000)
    queue = clockwork.pool_queues.of(POOL)
    (old,) = queue.receive(10)
    worker.claim(claim_of(old))
    for _ in range(30):
        worker.claim({**claim_of(old), "receiptHandle": "no receipt"})
        clockwork.clock.at += 200
    assert len(queue.messages) == 1


def test_a_repeat_behind_a_cancel_leaves_the_running_attempt_its_permit() -> None:
    api = with_pool()
    clockwork, worker = api.clockwork, Worker(api)
    stored = clockwork.clients.get("acme")
    assert stored is not None
    clockwork.clients.put(msgspec.structs.replace(stored, max_concurrency=1))
    job_id = create(api)
    clockwork.poll_all()
    asked = claim_of(*worker.receive())
    assert [one["outcome"] for one in worker.claim(asked)] == ["start"]
    assert api.call("DELETE", f"/v1/jobs/{job_id}", caller=ALICE).body["result"] == "running"
    assert [one["outcome"] for one in worker.claim(asked)] == ["gone"]
    assert len(clockwork.regulation.taken("acme", clockwork.clock.at)) == 1


def test_slow_permits_of_many_clients_use_up_no_call_for_those_beside_them() -> None:
    api = with_pool()
    clockwork, worker = api.clockwork, Worker(api)
    names = [*(f"a{number}" for number in range(9)), "zebra"]
    for name in names:
        cap = None if name == "zebra" else 5
        clockwork.clients.put(Client(client_id=name, principals=(ALICE,), allowed_pools=(POOL,), max_concurrency=cap))
        create(api, clientId=name)
    clockwork.poll_all()
    for name in ("taken", "lease"):
        setattr(clockwork.regulation, name, _slow(api, getattr(clockwork.regulation, name)))
    began_at, messages = clockwork.clock.at, worker.receive()
    outcomes = [one["outcome"] for one in worker.claim(*map(claim_of, messages))]
    assert clockwork.clock.at - began_at <= 5_000
    assert outcomes.count("start") == 2
    assert outcomes.count("unavailable") == 8


def _slow(api: Api, call: Any) -> Any:
    def slow(*args: Any) -> Any:
        api.clockwork.clock.at += 2_000
        return call(*args)

    return slow
