"""One stored item that cannot be read: what is accepted beside it, by anybody, is delivered on the shipped adapters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.executions import State
from clockwork.domain.named.changes import cancelled, paused
from clockwork.flows.named.write import change
from clockwork.flows.poll.tick import tick
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.sweep.shards import retire_shards
from clockwork.flows.timeline.shards import ensure_shards
from tests.crash_points.services import Services, services
from tests.handlers.handlers import Api, job_body, make_handler, recorded
from tests.support.examples import ACME, ALICE, new_job, request
from tests.support.named import Named
from tests.support.on_moto import MotoClockwork

GLOBEX = msgspec.structs.replace(ACME, client_id="globex", principals=(ALICE,))


@pytest.fixture(scope="module")
def on_moto() -> Iterator[Services]:
    with services() as running:
        MotoClockwork.services = running
        yield running


@pytest.fixture
def clockwork(on_moto: Services) -> MotoClockwork:
    clockwork = MotoClockwork()
    for client in (ACME, GLOBEX):
        clockwork.clients.put(client)
    ensure_shards(clockwork.world)
    return clockwork


def damage(running: Services, table: str, key: dict[str, str], **attributes: Any) -> None:
    """Write attributes of a stored item anew."""
    dynamodb = running.aws.client("dynamodb")
    place = {name: {"S": value} for name, value in key.items()}
    stored = dynamodb.get_item(TableName=table, Key=place, ConsistentRead=True).get("Item", {})
    dynamodb.put_item(TableName=table, Item={**place, **stored, **attributes})


@pytest.mark.parametrize("attributes", [{"standing": {"S": "draining"}}, {"owed": {"N": "1"}}, {"epoch": {"S": "x"}}])
def test_of_a_shard_whose_row_cannot_be_read_the_other_shards_are_polled(
    clockwork: MotoClockwork, on_moto: Services, attributes: dict[str, Any]
) -> None:
    create_jobs(clockwork.world, request(*(new_job(delay_ms=600_000 + n) for n in range(3))), ["p001"])
    damage(on_moto, "shards", {"partitionId": "p000"}, **attributes)
    assert len(ensure_shards(clockwork.world)) == clockwork.settings.shards
    asked: list[str] = []
    for _ in range(15):
        clockwork.clock.advance(60_000)
        before = len(clockwork.invoker.asked)
        assert tick(clockwork.world).failed == 0
        asked += clockwork.invoker.asked[before:]
        clockwork.poll("p001")
        while (visible_at := clockwork.queue.next_visible_at()) is not None and visible_at <= clockwork.clock.at:
            clockwork.deliver_visible()
    assert {"p000", "p001"} <= set(asked)
    assert len(clockwork.targets.delivered) == 3
    # Only shards that are given up are retired, and one that cannot be read is kept.
    damage(on_moto, "shards", {"partitionId": "p777"}, epoch={"S": "x"})
    assert retire_shards(clockwork.world, clockwork.clock.at + 60_000).kept == 1


@pytest.mark.parametrize(
    "attributes", [{}, {"occurrences": {"B": b"\x01\x90"}, "cancelled": {"L": []}}, {"expiresAt": {"N": "1.5"}}]
)
def test_a_row_whose_item_is_malformed_is_recorded_and_its_shard_goes_on(
    clockwork: MotoClockwork, on_moto: Services, attributes: dict[str, Any]
) -> None:
    key = keys.row_key(clockwork.clock.at + 400_000, "x" * 22)
    damage(on_moto, "timeline", {"partitionId": "p000", "scheduleTime": key}, **attributes)
    jobs = [new_job(delay_ms=500_000 + n) for n in range(5)]
    create_jobs(clockwork.world, msgspec.structs.replace(request(*jobs), client=GLOBEX), ["p000"])
    clockwork.run_until(clockwork.clock.at + 600_000)
    assert len(clockwork.targets.delivered) == 5
    states = [
        item["state"]["S"]
        for item in on_moto.aws.client("dynamodb").scan(TableName="executions", ConsistentRead=True)["Items"]
    ]
    assert states.count(State.DEAD) == 1


@pytest.mark.parametrize("overlap", ["allow", "skip"])
def test_behind_a_record_that_cannot_be_read_a_job_fires_on_and_can_be_changed(
    on_moto: Services, monkeypatch: pytest.MonkeyPatch, overlap: str
) -> None:
    monkeypatch.setattr("tests.support.named.MemoryClockwork", MotoClockwork)
    named = Named(every_ms=60_000, overlap=overlap)
    named.clockwork.clients.put(ACME)
    named.run(130)
    newest = named.executions()[0]
    damage(
        on_moto, "executions", {"jobId": newest.job_id, "executionId": newest.execution_id}, record={"B": b"\x01\xc1"}
    )
    before = len(named.clockwork.targets.delivered)
    named.run(300)
    assert len(named.clockwork.targets.delivered) == before + 5
    world = named.clockwork.world
    change(world, named.stored, None, paused("for a test"))
    change(world, named.stored, None, cancelled("for a test"))
    assert newest.execution_id not in [one.execution_id for one in named.executions()]


def api_on(clockwork: MotoClockwork) -> Api:
    """The api Lambda on moto, whose answers must be those that its description promises."""
    api = Api()
    api.clockwork, api.handle = clockwork, make_handler("api", recorded(clockwork.world, api.calls))
    return api


def test_whoever_acts_for_a_client_that_cannot_be_read_acts_for_the_others(
    clockwork: MotoClockwork, on_moto: Services
) -> None:
    damage(on_moto, "clients", {"clientId": "acme", "item": "client"}, definition={"B": b"\x01\xc1"})
    clockwork.world.clients._read.clear()  # type: ignore[attr-defined]
    (job,) = create_jobs(clockwork.world, msgspec.structs.replace(request(new_job()), client=GLOBEX), ["p000"])
    api = api_on(clockwork)
    assert api.call("GET", f"/v1/jobs/{job.job_id}").status == 200
    assert api.call("DELETE", f"/v1/jobs/{job.job_id}").body["result"] == "cancelled"
    assert api.call("GET", "/v1/whoami").body["clientIds"] == ["globex"]


def test_a_job_that_cannot_be_read_is_refused_alone_in_its_batch(clockwork: MotoClockwork, on_moto: Services) -> None:
    api = api_on(clockwork)
    body = {"clientId": "globex", "jobs": [job_body(), *(job_body(jobKey=key) for key in "abc")]}
    assert api.call("POST", "/v1/jobs/batch", body).status == 200
    damage(on_moto, "jobs", {"clientId": "globex", "jobKey": "b"}, job={"B": b"\x01\xc1"})
    answer = api.call("POST", "/v1/jobs/batch", body)
    assert (answer.status, [one["status"] for one in answer.body["results"]]) == (200, [201, 200, 500, 200])
    assert answer.body["results"][2]["problem"]["detail"] == "this is our fault; it has been logged"
