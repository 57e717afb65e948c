"""A checkpoint that gives no answer, or none that can be read, uses up no attempt of its execution."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.errors import NewerFormat, Unavailable, Undecodable
from clockwork.domain.executions import Execution
from clockwork.domain.pools.checkpoint import Checkpoint
from tests.handlers.fleet import POOL, TARGET, Worker, claim_of, with_pool
from tests.handlers.handlers import Api
from tests.support.examples import ACME, ALICE


@pytest.fixture
def api() -> Api:
    """An execution that was handed back with a checkpoint."""
    made = with_pool()
    job = {"clientId": "acme", "schedule": {"delaySeconds": 0}, "target": TARGET, "payload": 1}
    assert made.call("POST", "/v1/jobs", job, caller=ALICE).status == 201
    made.clockwork.poll_all()
    worker = Worker(made)
    (start,) = worker.take()
    kept = {"token": start["token"], "sequence": 1, "value": {"page": 1}}
    assert worker.post("checkpoints", kept).body["outcome"] == "ok"
    assert worker.tell(start["token"], "handback") == "ok"
    return made


def breaks(api: Api, error: Exception) -> None:
    def get(execution_id: str) -> Checkpoint | None:
        raise error

    api.clockwork.checkpoints.get = get  # type: ignore[method-assign]


def later(api: Api, seconds: int) -> None:
    api.clockwork.run_until(api.clockwork.clock.at + seconds * 1000)


def only(api: Api) -> Execution:
    (record,) = api.clockwork.executions.all()
    return record


@pytest.mark.parametrize("error", [Unavailable("no answer"), NewerFormat("format 99"), ValueError("a defect")])
def test_a_checkpoint_without_an_answer_leaves_the_ticket_and_uses_up_no_attempt(api: Api, error: Exception) -> None:
    get, worker = api.clockwork.checkpoints.get, Worker(api)
    breaks(api, error)
    left = 0
    for _ in range(144):
        left += sum(one["outcome"] == "unavailable" for one in worker.take())
        later(api, 5)
    assert left > 5
    assert only(api).spent == 0
    assert (only(api).attempt, len(only(api).attempts)) == (1, 1)
    assert not api.clockwork.queue.messages
    api.clockwork.checkpoints.get = get  # type: ignore[method-assign]
    later(api, 200)
    # The watch of the first attempt may have sent the ticket a second time.
    (start,) = [one for one in worker.take() if one["outcome"] == "start"]
    assert (start["attempt"], start["checkpoint"]["value"]) == (2, {"page": 1})


def test_a_checkpoint_that_cannot_be_decoded_counts_as_none(api: Api) -> None:
    breaks(api, Undecodable("rot"))
    later(api, 1)
    (start,) = Worker(api).take()
    assert (start["outcome"], start["attempt"]) == ("start", 2)
    assert "checkpoint" not in start


def test_the_permit_of_what_is_left_is_free(api: Api) -> None:
    limited = msgspec.structs.replace(ACME, allowed_pools=(POOL,), max_concurrency=1)
    api.clockwork.clients.put(limited)
    breaks(api, Unavailable("no answer"))
    later(api, 1)
    (answer,) = Worker(api).take()
    assert answer["outcome"] == "unavailable"
    assert not api.clockwork.regulation.taken("acme", api.clockwork.clock.at)


def test_who_asks_again_keeps_its_permit_although_the_checkpoint_gives_no_answer(api: Api) -> None:
    api.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_pools=(POOL,), max_concurrency=1))
    later(api, 1)
    worker = Worker(api)
    (message,) = worker.receive()
    claim = claim_of(message)
    assert worker.claim(claim)[0]["outcome"] == "start"
    breaks(api, Unavailable("no answer"))
    assert worker.claim(claim)[0]["outcome"] == "unavailable"
    assert len(api.clockwork.regulation.taken("acme", api.clockwork.clock.at)) == 1
