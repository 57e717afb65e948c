"""Workers of a pool over the API: they claim, send heartbeats, and tell how attempts ended, well and badly."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from clockwork.aws.stores.pools import CachedPools
from clockwork.domain.errors import Unavailable, Undecodable
from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.tokens import decode_token
from clockwork.domain.pools.pool import Pool
from clockwork.domain.pools.presence import HOUR_MS, MOST_REMEMBERED, Present
from clockwork.flows.sweep.dead_letters import sweep_dead_letters
from clockwork.flows.sweep.unpark import unpark
from clockwork.flows.world import Environment
from tests.handlers.fleet import HANDLER, POOL, ROLE, TARGET, Worker, claim_of, with_pool
from tests.handlers.handlers import Api, make_handler
from tests.support.examples import ACME, ADMIN, ALICE, BOB


@pytest.fixture
def api() -> Api:
    return with_pool()


def created(api: Api, **fields: Any) -> str:
    """The jobId of a job for the pool that is due at once."""
    job = {"clientId": "acme", "schedule": {"delaySeconds": 0}, "target": TARGET, "payload": {"month": 5}, **fields}
    answer = api.call("POST", "/v1/jobs", job, caller=ALICE)
    assert answer.status in (200, 201), answer.text
    api.clockwork.poll_all()
    return str(answer.body["jobId"])


def executions(api: Api, job_id: str) -> list[dict[str, Any]]:
    return list(api.call("GET", f"/v1/jobs/{job_id}/executions", caller=ALICE).body["items"])


def only(api: Api, job_id: str) -> dict[str, Any]:
    (execution,) = executions(api, job_id)
    whole: dict[str, Any] = api.call("GET", f"/v1/executions/{execution['executionId']}", caller=ALICE).body
    return whole


def later(api: Api, seconds: float) -> None:
    api.clockwork.run_until(api.clockwork.clock.at + round(seconds * 1000))


def stored(api: Api) -> list[Execution]:
    return list(api.clockwork.executions._records.values())


@pytest.mark.parametrize("fields", [{}, {"jobKey": "nightly"}, {"target": {**TARGET, "priority": "high"}}])
def test_a_worker_claims_beats_and_completes(api: Api, fields: dict[str, Any]) -> None:
    job_id = created(api, **fields)
    worker = Worker(api)
    (start,) = worker.take(fields.get("target", {}).get("priority", "normal"))
    expected = {"outcome": "start", "jobId": job_id, "clientId": "acme", "attempt": 1, "handler": HANDLER}
    expected |= {"payload": {"month": 5}, "startInMs": 0, "leaseInMs": 90_000, "deadlineInMs": 600_000}
    assert expected.items() <= start.items()
    assert start.get("jobKey") == fields.get("jobKey")
    shown = only(api, job_id)
    assert (shown["state"], shown["atWork"]["pool"], shown["atWork"]["workerId"]) == ("RUNNING", POOL, "host-1")
    later(api, 40)
    (beat,) = worker.beat({"token": start["token"], "progress": 0.5, "message": "half"})
    assert beat == {"executionId": start["executionId"], "outcome": "ok", "leaseInMs": 90_000, "cancelRequested": False}
    later(api, 80)
    assert only(api, job_id)["atWork"]["progress"] == 0.5
    assert worker.tell(start["token"], "complete", result={"pages": 12}) == "ok"
    assert worker.tell(start["token"], "complete") == "ok"  # a repeat
    assert worker.tell(start["token"], "fail", error="e") == "stale"
    shown = only(api, job_id)
    assert (shown["state"], shown["report"]["result"]) == ("SUCCEEDED", {"pages": 12})
    later(api, 3_000)
    assert not api.clockwork.queue.messages
    assert not any(queue.messages for queue in api.clockwork.pool_queues.all())


def test_a_ticket_is_deleted_and_a_second_one_like_it_is_gone(api: Api) -> None:
    created(api)
    worker = Worker(api)
    (message,) = worker.receive()
    claim = claim_of(message)
    (start,) = worker.claim(claim)
    assert not api.clockwork.pool_queues.of(POOL).messages
    (again,) = worker.claim({**claim, "claimId": "x" * 22})
    assert again == {"claimId": "x" * 22, "outcome": "gone"}
    # The same claimId again: its answer was lost.
    later(api, 20)
    (repeat,) = worker.claim(claim)
    assert (repeat["outcome"], repeat["token"], repeat["leaseInMs"]) == ("start", start["token"], 90_000)


def test_who_asks_again_though_a_cancel_was_noted_does_not_start(api: Api) -> None:
    job_id = created(api)
    worker = Worker(api)
    (message,) = worker.receive()
    claim = claim_of(message)
    worker.claim(claim)
    assert api.call("DELETE", f"/v1/jobs/{job_id}", caller=ALICE).body["result"] == "running"
    assert worker.claim(claim) == [{"claimId": claim["claimId"], "outcome": "gone"}]
    # Another call may have told it to start: then it is told of the cancel with its next heartbeat.
    assert only(api, job_id)["state"] == "RUNNING"
    later(api, 300)
    assert only(api, job_id)["state"] == "CANCELLED"


@pytest.mark.parametrize("change", ["mac", "priority", "sentAt", "pool", "release", "text", "v"])
def test_a_ticket_that_was_altered_starts_nothing(api: Api, change: str) -> None:
    created(api)
    other = created(api)
    worker = Worker(api)
    first, second = worker.receive()
    ticket = json.loads(first.body)
    altered: Any = {
        "mac": {**ticket, "mac": "0" * 64},
        "priority": {**ticket, "priority": "high"},
        "sentAt": {**ticket, "sentAt": ticket["sentAt"] + 1},
        "pool": {**ticket, "pool": "gpu"},
        "release": {**ticket, "release": json.loads(second.body)["release"]},
        "text": "no ticket",
        "v": {**ticket, "v": 2},
    }[change]
    text = altered if isinstance(altered, str) else json.dumps(altered)
    (answer,) = worker.claim({**claim_of(first), "ticket": text})
    assert answer["outcome"] == "gone"
    assert not stored(api)
    assert len(api.clockwork.pool_queues.of(POOL).messages) == 2
    assert not api.clockwork.queue.messages
    assert {one["outcome"] for one in worker.claim(claim_of(first), claim_of(second))} == {"start"}
    assert only(api, other)["state"] == "RUNNING"


def test_a_ticket_of_another_pool_starts_nothing(api: Api) -> None:
    created(api)
    (message,) = Worker(api).receive()
    (answer,) = Worker(api, pool="gpu").claim(claim_of(message))
    assert (answer["outcome"], stored(api)) == ("gone", [])


def test_a_ticket_that_is_too_old_starts_nothing(api: Api) -> None:
    created(api)
    (message,) = Worker(api).receive()
    api.clockwork.clock.advance(15 * 86_400_000 + 1)
    (answer,) = Worker(api).claim(claim_of(message))
    assert (answer["outcome"], stored(api)) == ("gone", [])


@pytest.mark.parametrize("caller", [ALICE, BOB, ADMIN])
def test_only_the_pools_principals_work_for_it(api: Api, caller: str) -> None:
    created(api)
    (message,) = Worker(api).receive()
    body = {"workerId": "w", "handlers": [HANDLER], "claims": [claim_of(message)]}
    assert Worker(api, caller=caller).post("claims", body).status == 403
    assert Worker(api, caller=ROLE).post("claims", body).status == 200
    assert Worker(api, caller=ROLE, pool="nowhere").post("claims", body).status == 403


def test_a_worker_that_dies_is_replaced_within_its_lease_and_five_seconds(api: Api) -> None:
    job_id = created(api)
    worker = Worker(api)
    (start,) = worker.take()
    began_at = api.clockwork.clock.at
    while not api.clockwork.pool_queues.of(POOL).messages:
        later(api, 1)
    assert api.clockwork.clock.at - began_at <= 95_000
    (again,) = worker.take()
    assert (again["attempt"], again["outcome"]) == (2, "start")
    assert worker.tell(start["token"], "complete") == "stale"
    assert worker.beat({"token": start["token"]}) == [{"executionId": start["executionId"], "outcome": "stale"}]
    assert worker.tell(again["token"], "complete") == "ok"
    assert [one["state"] for one in only(api, job_id)["attempts"]] == ["WORKER_LOST", "SUCCEEDED"]


def test_beats_keep_an_attempt_to_its_deadline_and_not_beyond(api: Api) -> None:
    job_id = created(api, retryPolicy={"maxAttempts": 1})
    worker = Worker(api)
    (start,) = worker.take()
    for _ in range(19):
        later(api, 30)
        (beat,) = worker.beat({"token": start["token"]})
        assert beat["outcome"] == "ok"
    assert beat["leaseInMs"] == 30_000
    later(api, 40)
    assert worker.beat({"token": start["token"]})[0]["outcome"] == "stale"
    shown = only(api, job_id)
    assert (shown["state"], shown["attempts"][0]["state"]) == ("DEAD", "TIMED_OUT")


def test_a_failure_is_tried_again_and_what_is_not_retryable_is_dead(api: Api) -> None:
    job_id = created(api)
    worker = Worker(api)
    (start,) = worker.take()
    assert worker.tell(start["token"], "fail", error="out of paper", retryAfterSeconds=30) == "ok"
    later(api, 2)
    assert worker.take() == []
    later(api, 30)
    (again,) = worker.take()
    assert again["attempt"] == 2
    assert worker.tell(again["token"], "fail", error="no such customer", retryable=False) == "ok"
    later(api, 2)
    shown = only(api, job_id)
    assert shown["state"] == "DEAD"
    assert [one["error"] for one in shown["attempts"]] == ["out of paper", "no such customer"]
    assert api.call("POST", f"/v1/executions/{shown['executionId']}/redrive", {}, caller=ALICE).status == 200
    later(api, 2)
    (third,) = worker.take()
    assert (third["attempt"], third["payload"]) == (3, {"month": 5})


@pytest.mark.parametrize("fields", [{}, {"jobKey": "nightly"}])
def test_what_is_handed_back_starts_again_at_once_and_uses_up_no_attempt(api: Api, fields: dict[str, str]) -> None:
    job_id = created(api, retryPolicy={"maxAttempts": 1}, **fields)
    worker = Worker(api)
    (start,) = worker.take()
    assert worker.tell(start["token"], "handback") == "ok"
    assert only(api, job_id)["state"] == "HANDED_BACK"
    assert worker.tell(start["token"], "handback") == "ok"
    assert worker.tell(start["token"], "complete") == "stale"
    # The repeat has sent the next ticket again: whoever handed it back may have got no answer since it was not sent.
    twice = worker.receive()
    assert len(twice) == 2
    answers = worker.claim(*map(claim_of, twice))
    assert sorted(one["outcome"] for one in answers) == ["gone", "start"]
    (again,) = [one for one in answers if one["outcome"] == "start"]
    assert (again["attempt"], again["payload"]) == (2, {"month": 5})
    assert worker.tell(start["token"], "handback") == "stale"
    assert worker.tell(again["token"], "fail", error="it broke") == "ok"
    later(api, 2)
    shown = only(api, job_id)
    assert (shown["state"], shown["reason"]) == ("DEAD", "attempt 1 of 1 failed: it broke")
    assert [one["state"] for one in shown["attempts"]] == ["HANDED_BACK", "FAILED"]


def test_the_eleventh_handback_is_a_failure(api: Api) -> None:
    job_id = created(api, retryPolicy={"maxAttempts": 1})
    worker = Worker(api)
    for _ in range(11):
        (start,) = worker.take()
        assert worker.tell(start["token"], "handback") == "ok"
    later(api, 2)
    shown = only(api, job_id)
    assert (shown["state"], shown["attempts"][-1]["state"]) == ("DEAD", "FAILED")
    assert [one["state"] for one in shown["attempts"][:-1]] == ["HANDED_BACK"] * 10


def test_a_running_job_hears_of_its_cancel_and_stops(api: Api) -> None:
    job_id = created(api)
    worker = Worker(api)
    (start,) = worker.take()
    assert worker.tell(start["token"], "cancelled") == "stale"
    assert api.call("DELETE", f"/v1/jobs/{job_id}", caller=ALICE).body["result"] == "running"
    assert worker.beat({"token": start["token"]})[0]["cancelRequested"] is True
    assert worker.tell(start["token"], "cancelled") == "ok"
    assert only(api, job_id)["state"] == "CANCELLED"


def test_a_worker_that_does_not_stop_is_fenced(api: Api) -> None:
    job_id = created(api)
    worker = Worker(api)
    (start,) = worker.take()
    api.call("DELETE", f"/v1/jobs/{job_id}", caller=ALICE)
    later(api, 61)
    assert worker.beat({"token": start["token"]})[0]["outcome"] == "stale"
    shown = only(api, job_id)
    assert (shown["state"], shown["forced"]) == ("CANCELLED", True)
    assert worker.tell(start["token"], "complete") == "stale"


def test_what_is_cancelled_before_its_claim_is_gone(api: Api) -> None:
    job_id = created(api)
    worker = Worker(api)
    assert api.call("DELETE", f"/v1/jobs/{job_id}", caller=ALICE).body["result"] == "cancelled"
    (answer,) = worker.take()
    assert (answer["outcome"], only(api, job_id)["state"]) == ("gone", "CANCELLED")
    later(api, 200)
    assert (only(api, job_id)["state"], api.clockwork.queue.messages) == ("CANCELLED", {})


def test_a_paused_clients_job_is_parked_and_comes_back(api: Api) -> None:
    job_id = created(api)
    api.call("POST", "/v1/clients/acme/pause", {"reason": "later"}, caller=ADMIN)
    worker = Worker(api)
    (answer,) = worker.take()
    assert (answer["outcome"], only(api, job_id)["state"]) == ("gone", "PARKED")
    api.call("POST", "/v1/clients/acme/resume", {}, caller=ADMIN)
    unpark(api.clockwork.world, api.clockwork.clock.at + 300_000)
    later(api, 120)
    (start,) = worker.take()
    assert start["outcome"] == "start"


def test_what_is_too_late_expires(api: Api) -> None:
    job_id = created(api, relevancyWindowSeconds=5)
    api.clockwork.clock.advance(6_000)
    (answer,) = Worker(api).take()
    assert (answer["outcome"], only(api, job_id)["state"]) == ("gone", "EXPIRED")


def test_what_is_early_comes_again_in_time(api: Api) -> None:
    created(api, schedule={"delaySeconds": 30})
    queue = api.clockwork.pool_queues.of(POOL)
    later(api, 1)
    (message,) = queue.messages.values()
    message.visible_at = api.clockwork.clock.at  # SQS shows it too soon
    (answer,) = Worker(api).take()
    assert answer["outcome"] == "gone"
    (again,) = queue.messages.values()
    assert again.message_id != message.message_id
    later(api, 27.7)
    (answer,) = Worker(api).claim(claim_of(again))
    assert (answer["outcome"], answer["startInMs"]) == ("start", 1_300)


def test_a_handler_that_the_worker_lacks_comes_again_for_another(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    created(api)
    created(api)
    answers = Worker(api, "close_month").take()
    assert [one["outcome"] for one in answers] == ["gone", "gone"]
    told = [one for one in caplog.records if getattr(one, "action", "") == "handler_lacking"]
    assert [(one.__dict__["pool"], one.__dict__["handler"]) for one in told] == [(POOL, HANDLER)]
    (normal,) = [one for one in pool_of(api)["waiting"] if one["priority"] == "normal"]
    assert (normal["tickets"], normal["delayed"]) == (0, 2)
    assert Worker(api).take() == []
    later(api, 2)
    assert Worker(api).take()[0]["outcome"] == "start"


def test_a_client_that_may_not_use_the_pool_any_more_has_its_job_refused(api: Api) -> None:
    job_id = created(api)
    api.clockwork.clients.put(msgspec.structs.replace(api.clockwork.clients.get("acme") or ACME, allowed_pools=()))
    (answer,) = Worker(api).take()
    shown = only(api, job_id)
    assert (answer["outcome"], shown["state"]) == ("gone", "DEAD")
    assert "allowedPools" in shown["reason"]


def test_a_named_job_that_moves_to_another_target_goes_there(api: Api) -> None:
    job_id = created(api, jobKey="nightly")
    hook = {"type": "http", "url": "https://example.com/hook"}
    changed = {"schedule": {"delaySeconds": 0}, "target": hook, "payload": 1}
    api.call("PUT", f"/v1/jobs/{job_id}", changed, caller=ALICE)
    worker = Worker(api)
    assert {one["outcome"] for one in worker.take()} == {"gone"}
    later(api, 5)
    assert api.clockwork.targets.delivered[-1].occurrence.target.url == hook["url"]  # type: ignore[union-attr]


def test_a_named_job_that_moves_to_a_pool_goes_there(api: Api) -> None:
    hook = {"type": "http", "url": "https://example.com/hook"}
    job_id = created(api, jobKey="nightly", target=hook, schedule={"delaySeconds": 20})
    later(api, 10)
    assert api.clockwork.queue.messages
    moved = api.call("PATCH", f"/v1/jobs/{job_id}", {"target": {**TARGET, "url": None}}, caller=ALICE)
    assert moved.status == 200, moved.text
    later(api, 30)
    (start,) = [one for one in Worker(api).take() if one["outcome"] == "start"]
    assert start["jobKey"] == "nightly"
    assert not api.clockwork.targets.delivered


def test_a_deleted_named_job_is_gone(api: Api) -> None:
    job_id = created(api, jobKey="nightly")
    api.call("DELETE", f"/v1/jobs/{job_id}", caller=ALICE)
    (answer,) = Worker(api).take()
    assert answer["outcome"] == "gone"
    assert executions(api, job_id)[0]["state"] == "CANCELLED"


def test_a_dead_execution_of_a_named_job_keeps_what_it_would_have_done(api: Api) -> None:
    job_id = created(api, jobKey="nightly", retryPolicy={"maxAttempts": 1})
    Worker(api).take()
    later(api, 100)
    (record,) = stored(api)
    assert only(api, job_id)["state"] == "DEAD"
    assert record.kept.occurrence is not None
    assert json.loads(record.kept.occurrence.payload.body) == {"month": 5}


def test_a_dead_ticket_is_sent_again_and_one_that_was_made_up_stays(api: Api) -> None:
    created(api)
    queue = api.clockwork.pool_queues.of(POOL)
    (message,) = queue.messages.values()
    message.receive_count = 100
    made_up = queue.messages[queue.put(message.body.replace('"mac":"', '"mac":"0'))]
    made_up.receive_count = 100
    assert Worker(api).receive() == []
    assert len(queue.dead) == 2
    report = sweep_dead_letters(api.clockwork.world, api.clockwork.clock.at + 300_000)
    assert (report.released, list(queue.dead)) == (1, [made_up.message_id])
    assert Worker(api).take()[0]["outcome"] == "start"


def test_a_healthy_attempt_outlives_minutes_without_an_answer_about_its_pool(api: Api) -> None:
    inner, is_out = api.clockwork.pools, list[bool]()

    class Out:
        def get(self, name: str, *, fresh: bool = False) -> Pool | None:
            if is_out:
                raise Unavailable("throttled")
            return inner.get(name, fresh=fresh)

        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

    created(api)
    msgspec.structs.force_setattr(api.clockwork.world, "pools", CachedPools(Out(), api.clockwork.clock, 10))
    api.handle = make_handler("api", api.clockwork.world)
    worker = Worker(api)
    (start,) = worker.take()
    is_out.append(True)
    for _ in range(14):
        later(api, 20)
        assert worker.beat({"token": start["token"]})[0]["outcome"] == "ok"
    later(api, 21)
    assert worker.post("heartbeats", {"heartbeats": [{"token": start["token"]}]}).status == 503
    is_out.clear()
    later(api, 10)
    assert worker.beat({"token": start["token"]})[0]["outcome"] == "ok"


def test_one_claim_of_several_fails_alone(api: Api) -> None:
    created(api)
    created(api)
    worker = Worker(api)
    good, bad = map(claim_of, worker.receive())
    (*answers,) = worker.claim({**bad, "ticket": "{}"}, good)
    assert [one["outcome"] for one in answers] == ["gone", "start"]


@pytest.mark.parametrize("depth", [900, 1_100, 100_000])
@pytest.mark.parametrize("form", ['{"x":%s', '{"v":%s', "%s"])
def test_a_ticket_that_is_nested_deeply_is_gone_and_ends_alone(api: Api, depth: int, form: str) -> None:
    created(api)
    worker = Worker(api)
    (message,) = worker.receive()
    deep = {**claim_of(message), "ticket": form % ("[" * depth), "receiptHandle": "another"}
    assert [one["outcome"] for one in worker.claim(deep, claim_of(message))] == ["gone", "start"]


def test_what_the_queue_says_of_one_receipt_ends_with_its_ticket(api: Api) -> None:
    created(api)
    created(api, target={**TARGET, "handler": "close_month"})
    worker = Worker(api)
    claims = [claim_of(message) for message in worker.receive()]

    def hold(*_: Any) -> list[bool]:
        raise ValueError("ReceiptHandleIsInvalid")

    api.clockwork.pool_queues.hold = hold  # type: ignore[assignment,method-assign]
    assert sorted(one["outcome"] for one in worker.claim(*claims)) == ["start", "unavailable"]


def test_reports_that_are_none_end_alone(api: Api) -> None:
    created(api)
    worker = Worker(api)
    (start,) = worker.take()
    forged = start["token"][:-22] + "x" * 22
    outcomes = [{"token": token, "outcome": "complete"} for token in ("nonsense", forged, start["token"])]
    answers = worker.post("outcomes", {"outcomes": outcomes}).body["outcomes"]
    assert [one["outcome"] for one in answers] == ["stale", "stale", "ok"]


def test_another_pools_workers_tell_nothing_of_an_attempt(api: Api) -> None:
    created(api)
    (start,) = Worker(api).take()
    assert Worker(api, pool="gpu").tell(start["token"], "complete") == "stale"
    assert Worker(api, pool="gpu").beat({"token": start["token"]})[0]["outcome"] == "stale"
    assert Worker(api).tell(start["token"], "complete") == "ok"


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"target": {**TARGET, "pool": "gpu"}}, "/target/pool"),
        ({"target": {**TARGET, "pool": "nowhere"}}, "/target/pool"),
        ({"target": {**TARGET, "handler": "unknown"}}, "/target/handler"),
        ({"target": {**TARGET, "timeoutSeconds": 604_801}}, "/target/timeoutSeconds"),
        ({"target": {**TARGET, "priority": "urgent"}}, "/target/priority"),
        ({"record": "none"}, "/target"),
        ({"orderingKey": "k"}, "/orderingKey"),
        ({"completion": {"mode": "callback"}}, "/completion"),
        ({"onFailure": TARGET}, "/onFailure"),
    ],
)
def test_what_a_pool_cannot_do_is_refused(api: Api, fields: dict[str, Any], pointer: str) -> None:
    job = {"clientId": "acme", "schedule": {"delaySeconds": 0}, "target": TARGET, **fields}
    answer = api.call("POST", "/v1/jobs", job, caller=ALICE)
    assert (answer.status, answer.pointers) == (422, [pointer]), answer.text


def test_claims_whose_ids_or_receipts_are_equal_are_refused_with_each_fault_named(api: Api) -> None:
    one = {"claimId": "a" * 22, "ticket": "{}", "receiptHandle": "r"}
    told = {}
    for number, other in enumerate(({}, {"claimId": "b" * 22}, {"receiptHandle": "s"})):
        body = {"workerId": "w", "handlers": [HANDLER], "claims": [one, {**one, **other}]}
        answer = Worker(api).post("claims", body)
        assert answer.status == 422
        told[number] = [name for name in ("claimIds", "receiptHandles") if name in answer.text]
    assert told == {0: ["claimIds", "receiptHandles"], 1: ["receiptHandles"], 2: ["claimIds"]}
    body = {"workerId": "w", "handlers": [HANDLER], "claims": [one, {**one, "claimId": "b" * 22, "receiptHandle": "s"}]}
    assert Worker(api).post("claims", body).status == 200


def test_without_pools_a_pool_is_refused() -> None:
    api = Api()
    answer = api.call("POST", "/v1/jobs", {"clientId": "acme", "schedule": {"delaySeconds": 0}, "target": TARGET})
    assert (answer.status, answer.pointers) == (422, ["/target/pool"])


def test_a_target_is_shown_as_it_was_asked_for(api: Api) -> None:
    job_id = created(api, target={"type": "pool", "pool": POOL, "handler": HANDLER})
    shown = api.call("GET", f"/v1/jobs/{job_id}", caller=ALICE).body["target"]
    assert shown == {"type": "pool", "pool": POOL, "handler": HANDLER, "timeoutSeconds": 3_600, "priority": "normal"}


def checkpoint(worker: Worker, token: str, sequence: int, value: Any) -> str:
    answer = worker.post("checkpoints", {"token": token, "sequence": sequence, "value": value})
    assert answer.status == 200, answer.text
    return str(answer.body["outcome"])


@pytest.mark.parametrize("fields", [{}, {"jobKey": "nightly"}])
def test_the_next_attempt_goes_on_from_the_last_checkpoint_and_the_one_before_writes_no_more(
    api: Api, fields: dict[str, str]
) -> None:
    created(api, **fields)
    worker = Worker(api)
    (first,) = worker.take()
    assert "checkpoint" not in first
    assert checkpoint(worker, first["token"], 1, {"page": 1}) == "ok"
    assert checkpoint(worker, first["token"], 2, {"page": 2}) == "ok"
    assert checkpoint(worker, first["token"], 2, {"page": 2}) == "ok"  # a repeat
    assert checkpoint(worker, first["token"], 1, {"page": 1}) == "stale"
    later(api, 100)
    (second,) = worker.take()
    assert (second["attempt"], second["checkpoint"]) == (2, {"attempt": 1, "sequence": 2, "value": {"page": 2}})
    assert checkpoint(worker, first["token"], 3, {"page": 3}) == "stale"
    assert checkpoint(worker, second["token"], 3, {"page": 30}) == "ok"
    assert worker.tell(second["token"], "handback") == "ok"
    later(api, 1)
    (third,) = worker.take()
    assert third["checkpoint"] == {"attempt": 2, "sequence": 3, "value": {"page": 30}}


def test_a_write_that_stalled_before_its_checkpoint_is_refused_once_the_next_attempt_has_it(api: Api) -> None:
    """The token was good when it was looked at; the write comes when the next attempt has been claimed."""
    created(api)
    worker = Worker(api)
    (first,) = worker.take()
    assert checkpoint(worker, first["token"], 1, 1) == "ok"
    put, kept = api.clockwork.checkpoints.put, list[Any]()

    def stalls(before: Any, after: Any) -> bool:
        if not kept:
            kept.append(after)
            later(api, 100)
            kept.append(worker.take())
        return put(before, after)

    api.clockwork.checkpoints.put = stalls  # type: ignore[method-assign]
    assert checkpoint(worker, first["token"], 2, 2) == "stale"
    (second,) = kept[1]
    assert second["checkpoint"]["value"] == 1
    found = api.clockwork.checkpoints.get(first["executionId"])
    assert found is not None
    assert (found.value, found.fence) == (b"1", 2)


def test_who_asks_again_for_a_claim_gets_the_same_checkpoint(api: Api) -> None:
    created(api)
    worker = Worker(api)
    (first,) = worker.take()
    checkpoint(worker, first["token"], 1, [1, 2])
    worker.tell(first["token"], "handback")
    later(api, 1)
    (message,) = worker.receive()
    claim = claim_of(message)
    answers = [worker.claim(claim)[0] for _ in range(2)]
    assert [one["checkpoint"]["value"] for one in answers] == [[1, 2], [1, 2]]


def test_checkpoints_that_are_none(api: Api) -> None:
    created(api)
    worker = Worker(api)
    (first,) = worker.take()
    assert checkpoint(worker, "no token", 1, 1) == "stale"
    assert checkpoint(worker, first["token"][:-1] + "x", 1, 1) == "stale"
    assert checkpoint(Worker(api, pool="gpu"), first["token"], 1, 1) == "stale"
    assert checkpoint(worker, first["token"], 1, None) == "ok"
    for body in ({"sequence": 0, "value": 1}, {"sequence": 1}, {"sequence": 1, "value": "x" * 32_768}):
        assert worker.post("checkpoints", {"token": first["token"], **body}).status == 422
    assert worker.tell(first["token"], "complete") == "ok"
    assert checkpoint(worker, first["token"], 2, 1) == "stale"


def test_a_token_with_another_attempts_number_keeps_no_checkpoint(api: Api) -> None:
    created(api)
    worker = Worker(api)
    (first,) = worker.take()
    (key,) = api.clockwork.ticket_keys.get()
    real = decode_token(first["token"])
    assert real.is_checked([key], POOL)
    assert checkpoint(worker, str(msgspec.structs.replace(real, attempt=2)), 1, "made up") == "stale"
    forged = msgspec.structs.replace(real, attempt=999_999_999).checked(key, POOL)
    assert checkpoint(worker, str(forged), 1, "with the key of the deployment") == "stale"
    assert checkpoint(worker, first["token"], 1, {"page": 1}) == "ok"
    assert worker.tell(first["token"], "handback") == "ok"
    later(api, 1)
    (second,) = worker.take()
    assert second["checkpoint"] == {"attempt": 1, "sequence": 1, "value": {"page": 1}}
    assert checkpoint(worker, second["token"], 1, {"page": 2}) == "ok"


def pool_of(api: Api, caller: str = ADMIN) -> dict[str, Any]:
    answer = api.call("GET", f"/v1/pools/{POOL}", caller=caller)
    assert answer.status == 200, answer.text
    return dict(answer.body)


def running(api: Api, query: dict[str, str] | None = None) -> list[dict[str, Any]]:
    answer = api.call("GET", f"/v1/pools/{POOL}/executions", caller=ADMIN, query=query or {"state": "RUNNING"})
    assert answer.status == 200, answer.text
    return list(answer.body["items"])


def test_a_pool_tells_what_its_workers_have_in_progress(api: Api) -> None:
    assert (pool_of(api)["running"], pool_of(api)["workers"], running(api)) == (0, [], [])
    ids = [created(api) for _ in range(3)]
    worker = Worker(api)
    starts = worker.take()
    assert len(starts) == 3
    shown = pool_of(api)
    (seen,) = shown["workers"]
    assert (shown["running"], seen["workerId"], seen["running"]) == (3, "host-1", 3)
    assert 0 <= seen["startedLateMs"] < 1_000
    later(api, 61)
    worker.beat({"token": starts[0]["token"], "progress": 0.5, "message": "half"})
    worker.beat(*({"token": one["token"]} for one in starts[1:]))
    assert worker.tell(starts[1]["token"], "complete") == "ok"
    found = {one["jobId"]: one for one in running(api)}
    assert set(found) == {start["jobId"] for start in starts} - {starts[1]["jobId"]} <= set(ids)
    one = found[starts[0]["jobId"]]
    assert (one["clientId"], one["attempt"], one["workerId"], one["progress"]) == ("acme", 1, "host-1", 0.5)
    assert pool_of(api)["running"] == 2
    answer = api.call("GET", f"/v1/pools/{POOL}/executions", caller=ADMIN, query={"limit": "1"})
    assert (len(answer.body["items"]), answer.body["more"]) == (1, True)


def test_a_worker_is_told_what_waits_and_costs_no_read_of_what_runs(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    created(api)
    (start,) = Worker(api).take()
    asked: list[object] = []

    def listed(*some: object) -> list[object]:
        asked.append(some)
        return []

    monkeypatch.setattr(api.clockwork.workers, "list", listed)
    monkeypatch.setattr(api.clockwork.executions, "get", listed)
    shown = pool_of(api, ROLE)
    assert not asked
    assert shown["queueUrls"]
    assert [one["priority"] for one in shown["waiting"]] == ["high", "normal", "low"]
    assert not {"running", "workers"} & set(shown)
    assert start["executionId"] not in json.dumps(shown)
    assert pool_of(api)["workers"] == []
    assert asked


def test_a_report_under_a_stale_token_hides_nothing_of_the_attempt_at_work(api: Api) -> None:
    created(api)
    worker = Worker(api)
    (first,) = worker.take()
    assert worker.tell(first["token"], "handback") == "ok"
    later(api, 61)
    (second,) = worker.take()
    assert second["executionId"] == first["executionId"]
    assert worker.tell(first["token"], "complete") == "stale"
    assert worker.tell(first["token"] + "x", "complete") == "stale"
    # The next note tells what it claims then beside what the environment knows that it has.
    later(api, 61)
    created(api)
    (third,) = worker.take()
    assert {one["executionId"] for one in running(api)} == {second["executionId"], third["executionId"]}


def test_what_is_claimed_and_not_noted_yet_is_told_a_minute_later(api: Api) -> None:
    created(api)
    worker = Worker(api)
    worker.take()
    created(api)
    (second,) = worker.take()
    (first,) = running(api)
    assert first["executionId"] != second["executionId"]
    later(api, 61)
    worker.beat({"token": second["token"]})
    assert {one["executionId"] for one in running(api)} == {first["executionId"], second["executionId"]}


def test_what_runs_is_told_whichever_environment_heard_of_it(api: Api) -> None:
    """The note of one environment about a worker stays, whatever another one notes of that worker."""
    target = {**TARGET, "timeoutSeconds": 86_400}
    for _ in range(3):
        created(api, target=target)
    worker, first = Worker(api), api.handle
    started = worker.take()
    created(api, target=target)
    api.handle = make_handler("api", api.clockwork.world.with_(environment=Environment("another")))
    (further,) = worker.take()
    ids = {one["executionId"] for one in (*started, further)}
    assert {one["executionId"] for one in running(api)} == ids
    assert worker.tell(further["token"], "complete") == "ok"
    api.handle = first
    for _ in range(80):
        later(api, 50)
        assert {one["outcome"] for one in worker.beat(*({"token": one["token"]} for one in started))} == {"ok"}
        assert {one["executionId"] for one in running(api)} == ids - {further["executionId"]}
    (shown,) = pool_of(api)["workers"]
    assert (shown["workerId"], shown["running"]) == ("host-1", 3)


def test_a_claim_that_starts_nothing_notes_nobody(api: Api) -> None:
    created(api)
    worker = Worker(api)
    (message,) = worker.receive()
    claim = claim_of(message)
    for number in range(3):
        body = {"workerId": f"made-up-{number}", "handlers": [HANDLER], "claims": [{**claim, "ticket": "none"}]}
        assert worker.post("claims", body).body["claims"][0]["outcome"] == "gone"
    assert pool_of(api)["workers"] == []
    assert worker.claim(claim)[0]["outcome"] == "start"
    assert [one["workerId"] for one in pool_of(api)["workers"]] == ["host-1"]


def test_who_asks_again_under_another_name_is_noted_under_the_first(api: Api) -> None:
    created(api)
    worker = Worker(api)
    (message,) = worker.receive()
    claim = claim_of(message)
    for name in ("host-1", "made-up"):
        body = {"workerId": name, "handlers": [HANDLER], "claims": [claim]}
        assert worker.post("claims", body).body["claims"][0]["outcome"] == "start"
    assert [one["workerId"] for one in pool_of(api)["workers"]] == ["host-1"]


def test_the_workers_seen_last_are_told_however_many_there_were_before(api: Api) -> None:
    now = api.clockwork.clock.at
    for number in range(260):
        early = Present(pool=POOL, worker_id=f"a-{number:03d}", seen_at=now - 2 * HOUR_MS + number)
        api.clockwork.workers.note(early)
    created(api)
    (start,) = Worker(api).take()
    told = [one["workerId"] for one in pool_of(api)["workers"]]
    assert told == ["host-1", *(f"a-{number:03d}" for number in range(259, 60, -1))]
    answer = api.call("GET", f"/v1/pools/{POOL}/executions", caller=ADMIN)
    assert ([one["executionId"] for one in answer.body["items"]], answer.body["more"]) == ([start["executionId"]], True)
    later(api, 23 * 3600)
    assert pool_of(api)["workers"][0]["workerId"] == "host-1"
    assert len(pool_of(api)["workers"]) == 1


def test_names_that_one_pool_makes_up_take_no_note_of_another(api: Api) -> None:
    created(api)
    (start,) = Worker(api).take()
    for number in range(MOST_REMEMBERED + 10):
        seen = Present(pool="gpu", worker_id=str(number), seen_at=api.clockwork.clock.at)
        api.clockwork.world.environment.present.keep(seen)
    later(api, 61)
    noted: list[Present] = []
    api.clockwork.workers.note = noted.append  # type: ignore[assignment,method-assign]
    Worker(api).beat({"token": start["token"]})
    assert noted == []  # it is known still that nothing has changed


def test_only_admins_list_what_runs_and_nothing_else_is_listed(api: Api) -> None:
    for caller in (ALICE, BOB, ROLE):
        assert api.call("GET", f"/v1/pools/{POOL}/executions", caller=caller).status == 403
    answer = api.call("GET", f"/v1/pools/{POOL}/executions", caller=ADMIN, query={"state": "DEAD"})
    assert answer.status == 422
    assert api.call("GET", "/v1/pools/none/executions", caller=ADMIN).status == 404


def test_a_worker_that_cannot_be_noted_gets_its_answer(api: Api) -> None:
    created(api)

    def note(_: object) -> None:
        raise Unavailable("no answer")

    api.clockwork.workers.note = note  # type: ignore[assignment,method-assign]
    worker = Worker(api)
    (start,) = worker.take()
    assert worker.beat({"token": start["token"]})[0]["outcome"] == "ok"
    api.clockwork.workers.list = note  # type: ignore[assignment,method-assign]
    shown = pool_of(api)
    assert "workers" not in shown
    assert "running" not in shown


def test_a_note_that_cannot_be_read_hides_no_other_worker(api: Api) -> None:
    created(api)
    Worker(api).take()
    known = api.clockwork.workers.list
    api.clockwork.workers.list = lambda pool, limit: [Undecodable("no msgpack"), *known(pool, limit)]  # type: ignore[method-assign]
    assert [one["workerId"] for one in pool_of(api)["workers"]] == ["host-1"]
    answer = api.call("GET", f"/v1/pools/{POOL}/executions", caller=ADMIN)
    assert (len(answer.body["items"]), answer.body["more"]) == (1, True)


def test_how_long_tickets_waited_and_stale_tokens_are_counted_once_a_call(
    api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    created(api)
    later(api, 3)
    worker = Worker(api)
    (start,) = worker.take()
    worker.tell(start["token"], "complete")
    worker.tell(start["token"], "fail", error="e")
    worker.beat({"token": start["token"]}, {"token": start["token"]})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines() if "_aws" in line]
    told = [{name: line[name] for name in ("TimeToStartMs", "StaleTokens") if name in line} for line in lines]
    assert [one for one in told if one] == [{"TimeToStartMs": [3_000]}, {"StaleTokens": 1}, {"StaleTokens": 2}]
