"""The answer to a call of a worker stays below what a Lambda may answer, whatever the payloads of its tickets."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from clockwork.domain.pools.answers import ANY_CHECKPOINT, LARGEST_ANSWER, fitting
from clockwork.edge.requests.reports import LARGEST_REPORT
from tests.handlers.fleet import HANDLER, POOL, TARGET, Worker, claim_of, with_pool
from tests.handlers.handlers import CONTEXT, GLOBEX, Api
from tests.support.events import http_event
from tests.support.examples import ALICE, BOB

#: The most bytes that a Lambda may answer.
MOST_ANSWERED = 6_291_556
#: Payloads that take the most bytes in an answer for each of their own.
LARGE = ['"' * 255_000, "\x01" * 85_000, "\x7f" * 262_144, "é" * 131_072, ["\x7f" * 262_140]]


@pytest.fixture
def api() -> Api:
    made = with_pool()
    made.clockwork.clients.put(msgspec.structs.replace(GLOBEX, allowed_pools=(POOL,)))
    return made


def created(api: Api, client_id: str, payload: Any, caller: str = ALICE, **fields: Any) -> None:
    job = {"clientId": client_id, "schedule": {"delaySeconds": 0}, "target": TARGET, "payload": payload, **fields}
    assert api.call("POST", "/v1/jobs", job, caller=caller).status == 201


def answered(worker: Worker, claims: list[dict[str, str]]) -> list[dict[str, Any]]:
    """The answers to one call, which a Lambda may give."""
    body = json.dumps({"workerId": "w", "handlers": [HANDLER], "claims": claims})
    event = http_event("POST", f"/v1/pools/{POOL}/claims", body, caller=worker.caller)
    answer = worker.api.handle(event, CONTEXT)
    assert answer["statusCode"] == 200, answer["body"]
    assert len(json.dumps(answer)) <= MOST_ANSWERED
    return list(json.loads(answer["body"])["claims"])


def rounds(worker: Worker) -> list[list[dict[str, Any]]]:
    """The attempts that each of some calls starts: each asks for what the one before has left, until nothing is."""
    claims = [claim_of(message) for message in worker.receive()]
    started: list[list[dict[str, Any]]] = []
    while claims:
        answers = answered(worker, claims)
        assert {one["outcome"] for one in answers} <= {"start", "unavailable"}
        started.append([one for one in answers if one["outcome"] == "start"])
        assert started[-1], "each call starts something"
        left = {one["claimId"] for one in answers if one["outcome"] == "unavailable"}
        claims = [one for one in claims if one["claimId"] in left]
    return started


@pytest.mark.long
@pytest.mark.parametrize("payload", LARGE)
@pytest.mark.parametrize("fields", [{}, {"jobKey": "k"}])
def test_ten_large_payloads_start_over_some_calls_and_the_small_one_in_the_first(
    api: Api, payload: Any, fields: dict[str, str]
) -> None:
    for number in range(9):
        created(api, "acme", payload, **{name: f"{value}{number}" for name, value in fields.items()})
    created(api, "globex", {"x": 1}, caller=BOB)
    api.clockwork.poll_all()
    started = rounds(Worker(api))
    assert sum(map(len, started)) == 10
    assert len(started) > 1
    assert "globex" in {one["clientId"] for one in started[0]}
    assert all(one["payload"] == payload for some in started for one in some if one["clientId"] == "acme")
    assert all(one.attempt == 1 for one in api.clockwork.executions.all())


def test_checkpoints_have_room_beside_large_payloads(api: Api) -> None:
    for _ in range(10):
        created(api, "acme", '"' * 120_000)
    api.clockwork.poll_all()
    worker = Worker(api)
    for one in [one for some in rounds(worker) for one in some]:
        kept = {"token": one["token"], "sequence": 1, "value": "\x7f" * (LARGEST_REPORT - 2)}
        assert worker.post("checkpoints", kept).body["outcome"] == "ok"
        assert worker.tell(one["token"], "handback") == "ok"
    started = [one for some in rounds(worker) for one in some]
    assert [(one["attempt"], len(one["checkpoint"]["value"])) for one in started] == [(2, LARGEST_REPORT - 2)] * 10


def test_a_job_that_grows_between_its_claim_and_its_look_is_answered_in_a_later_call(api: Api) -> None:
    for number in range(10):
        created(api, "acme", 1, jobKey=f"k{number}")
    api.clockwork.poll_all()
    worker = Worker(api)
    claims = [claim_of(message) for message in worker.receive()]
    save, saved = api.clockwork.executions.save, list[int]()

    def grows(changes: Any) -> Any:
        done = save(changes)
        if not saved:
            saved.append(1)
            for number in range(10):
                changed = {"schedule": {"delaySeconds": 0}, "target": TARGET, "payload": '"' * 255_000}
                path = f"/v1/jobs/{api.clockwork.executions.all()[number].job_id}"
                assert api.call("PUT", path, changed, caller=ALICE).status == 200
        return done

    api.clockwork.executions.save = grows  # type: ignore[method-assign]
    started = 0
    while claims:
        answers = answered(worker, claims)
        claims = [one for one, answer in zip(claims, answers, strict=True) if answer["outcome"] == "unavailable"]
        started += sum(one["outcome"] == "start" for one in answers)
    assert started == 10
    assert {one.attempt for one in api.clockwork.executions.all()} == {1}


def test_what_another_worker_has_takes_no_room(api: Api) -> None:
    for _ in range(10):
        created(api, "acme", '"' * 255_000)
    api.clockwork.poll_all()
    worker = Worker(api)
    claims = [claim_of(message) for message in worker.receive()]
    left = claims
    while left:
        answers = answered(worker, left)
        left = [one for one, answer in zip(left, answers, strict=True) if answer["outcome"] == "unavailable"]
    again = [{**one, "claimId": one["claimId"].replace("0", "x")} for one in claims]
    assert {one["outcome"] for one in answered(worker, again)} == {"gone"}


def test_the_first_one_fits_anyhow_and_then_the_small_ones() -> None:
    most = LARGEST_ANSWER
    assert fitting([]) == []
    assert fitting([2 * most, 1, 1]) == [0]
    assert fitting([most // 2, most // 2 - 2, most // 3, 1]) == [0, 2, 3]
    assert fitting([1, 1], used=most) == []
    assert fitting([most, 1], used=1) == [1]


def test_the_room_of_a_checkpoint_holds_the_largest_one() -> None:
    assert ANY_CHECKPOINT == 6 * LARGEST_REPORT
