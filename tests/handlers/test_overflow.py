"""A flood over the API: a worker tells of its slots, and what is beyond a client's share goes to the overflow queue."""

from __future__ import annotations

from typing import Any

import pytest

from tests.handlers.fleet import TARGET, Worker, claim_of, with_pool
from tests.handlers.handlers import Api
from tests.support.examples import ALICE

FULL = {"count": 2, "held": {"acme": 2, "other": 0}}


@pytest.fixture
def api() -> Api:
    return with_pool()


def late_claims(api: Api, count: int = 3) -> list[dict[str, str]]:
    """The claims of acme's tickets, which have waited for a while."""
    for number in range(count):
        job = {"clientId": "acme", "schedule": {"delaySeconds": 0}, "target": TARGET, "payload": number}
        assert api.call("POST", "/v1/jobs", job, caller=ALICE).status == 201
    api.clockwork.poll_all()
    api.clockwork.clock.advance(10_000)
    return [claim_of(one) for one in Worker(api).receive()]


def test_what_is_beyond_the_share_is_gone_there_and_starts_from_the_overflow_queue(api: Api) -> None:
    worker = Worker(api)
    answers = worker.claim(*late_claims(api), slots=FULL)
    assert [one["outcome"] for one in answers] == ["gone"] * 3
    moved = [claim_of(one) for one in worker.receive("normal-overflow")]
    assert [one["outcome"] for one in worker.claim(*moved, slots=FULL)] == ["start"] * 3
    assert not any(queue.messages for queue in api.clockwork.pool_queues.all())


def test_a_worker_that_tells_nothing_of_its_slots_gets_all(api: Api) -> None:
    assert [one["outcome"] for one in Worker(api).claim(*late_claims(api))] == ["start"] * 3


@pytest.mark.parametrize(
    ("slots", "pointer"),
    [
        ({"count": 0, "held": {}}, "/slots/count"),
        ({"count": 1}, "/slots/held"),
        ({"count": 1, "held": {"acme": -1}}, "/slots/held/acme"),
        ({"count": 1, "held": {"Acme": 1}}, "/slots/held/Acme"),
        ({"count": 1, "held": {f"client-{n}": 0 for n in range(51)}}, "/slots/held"),
        ({"count": 1, "held": {}, "free": 1}, "/slots/free"),
        (5, "/slots"),
    ],
)
def test_odd_slots_are_refused_by_name(api: Api, slots: Any, pointer: str) -> None:
    claims = late_claims(api, 1)
    body = {"workerId": "host-1", "handlers": ["work"], "claims": claims, "slots": slots}
    answer = Worker(api).post("claims", body)
    assert answer.status == 422
    assert all(one.startswith(pointer) for one in answer.pointers), answer.pointers
    assert answer.pointers
