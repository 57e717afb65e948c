"""The client on the shipped edge: what it asks for happens, and what it reads is what is there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery
from clockwork_client import (
    Clockwork,
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    Refused,
    TooManyRequests,
    http,
    retry,
    sqs,
)
from clockwork_client.targets import HttpTarget
from tests.handlers.handlers import Api
from tests.sdk.edge import InMemory, client_of, on
from tests.support.examples import ADMIN

HOOK = http("https://example.com/hook")


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def cw(api: Api) -> Clockwork:
    return on(api)


def now(api: Api) -> datetime:
    return datetime.fromtimestamp(api.clockwork.clock.at / 1000, UTC)


def test_a_job_is_created_read_delivered_and_listed(api: Api, cw: Clockwork) -> None:
    job = cw.schedule(HOOK, {"order": 17}, in_=timedelta(minutes=5), tags={"team": "billing"})
    assert (job.state, job.client_id, job.due_at) == ("SCHEDULED", "acme", now(api) + timedelta(minutes=5))
    read = cw.jobs.get(job.job_id)
    assert (read.payload, read.tags, read.job_key) == ({"order": 17}, {"team": "billing"}, None)
    assert isinstance(read.target, HttpTarget)
    assert read.target.url == "https://example.com/hook"
    api.clockwork.run_until(api.clockwork.clock.at + 400_000)
    (execution,) = cw.executions.list(job.job_id)
    assert (execution.state, [one.state for one in execution.attempts]) == ("SUCCEEDED", ["SUCCEEDED"])
    assert cw.executions.get(execution.execution_id) == execution
    assert cw.jobs.cancel(job.job_id).result == "too_late"


def test_a_named_job_through_its_life(api: Api, cw: Clockwork) -> None:
    job = cw.schedule(HOOK, every=3600, key="hourly", timezone="Europe/Berlin", start_at=now(api))
    assert (job.revision, job.state) == (1, "ACTIVE")
    assert cw.schedule(HOOK, every=timedelta(hours=1), key="hourly", timezone="Europe/Berlin", start_at=now(api)) == job
    with pytest.raises(Conflict) as caught:
        cw.schedule(HOOK, every=7200, key="hourly", timezone="Europe/Berlin", start_at=now(api))
    assert caught.value.pointers == ("/schedule/every/seconds",)
    found = cw.jobs.find("hourly")
    assert found is not None
    assert found.schedule is not None
    assert found.schedule.every is not None
    assert (found.job_id, found.schedule.every.seconds) == (job.job_id, 3600)
    assert cw.jobs.find("hour") is None
    assert cw.jobs.find("z") is None
    assert cw.jobs.pause(job.job_id, "maintenance", if_revision=1).state == "PAUSED"
    with pytest.raises(Conflict):
        cw.jobs.resume(job.job_id, if_revision=1)
    assert cw.jobs.resume(job.job_id, if_revision=2).revision == 3
    assert cw.jobs.patch(job.job_id, {"payload": 2}).revision == 4
    replaced = cw.jobs.replace(job.job_id, HOOK, 3, cron="0 3 * * *", timezone="Europe/Berlin")
    assert replaced.revision == 5
    whole = cw.jobs.get(job.job_id)
    assert whole.next_fires is not None
    assert (whole.payload, len(whole.next_fires)) == (3, 10)
    assert cw.jobs.run(job.job_id).execution_id
    api.clockwork.run_until(api.clockwork.clock.at + 86_400_000)
    assert len(list(cw.executions.list(job.job_id, page_size=1))) == 2
    start = now(api)
    backfill = cw.jobs.backfill(job.job_id, start - timedelta(days=1), start, max_per_second=5)
    assert backfill.count == 1
    assert cw.jobs.cancel(job.job_id).result == "cancelled"


def test_pages_are_read_to_their_end(cw: Clockwork) -> None:
    keys = [f"job-{number}" for number in range(7)]
    for key in keys:
        cw.schedule(HOOK, cron="0 3 * * *", key=key)
    assert [job.job_key for job in cw.jobs.list(page_size=2)] == keys
    assert [job.job_key for job in cw.jobs] == keys
    cw.schedule(HOOK, cron="0 3 * * *", key="tagged", tags={"team": "a"})
    assert [job.job_key for job in cw.jobs.list(tag="team=a", page_size=2)] == ["tagged"]
    assert list(cw.jobs.list(tag="team=b")) == []
    keys.append("tagged")
    pages = cw.jobs.list(page_size=3)
    first = [next(pages).job_key for _ in range(3)]
    rest = [job.job_key for job in cw.jobs.list(page_size=3, next_token=pages.next_token)]
    assert first + rest == keys


def test_the_dead_are_listed_redriven_and_discarded(api: Api, cw: Clockwork) -> None:
    fails: list[bool] = [True]

    def answer(delivery: Delivery) -> Outcome:
        at = api.clockwork.clock.at
        state = State.FAILED if fails[0] else State.SUCCEEDED
        return Outcome(state, at, at, status_code=500 if fails[0] else 200)

    api.clockwork.targets._answer = answer
    ids = [cw.schedule(HOOK, in_=1, key=f"k{n}", retry=retry(max_attempts=1)).job_id for n in range(3)]
    api.clockwork.run_until(api.clockwork.clock.at + 100_000)
    assert {one.job_id for one in cw.dead} == set(ids)
    handled = cw.dead.redrive(prefix="k0", from_=now(api) - timedelta(hours=1), to=now(api))
    assert (handled.matched, handled.changed) == (1, 1)
    fails[0] = False
    first = next(cw.dead.list(prefix="k1"))
    assert cw.executions.redrive(first.execution_id).state == "PENDING"
    api.clockwork.run_until(api.clockwork.clock.at + 100_000)
    with pytest.raises(Conflict):
        cw.executions.redrive(first.execution_id)
    assert cw.dead.discard().matched == 1 + len(list(cw.dead.list(prefix="k0")))


def test_clients_are_written_and_read_by_an_admin(api: Api, cw: Clockwork) -> None:
    admin = on(api, ADMIN)
    written = admin.clients.put("new", principals=["arn:aws:iam::111111111111:user/u"], retry=retry(max_attempts=2))
    assert written == admin.clients.get("new")
    assert written.retry_policy is not None
    assert (written.state, written.retry_policy.max_attempts) == ("ACTIVE", 2)
    assert admin.clients.pause("new", reason="load").reason == "load"
    assert admin.clients.resume("new").state == "ACTIVE"
    assert admin.clients.release_parked("new", max_per_second=5).max_per_second == 5
    assert admin.clients.discard_parked("new").client_id == "new"
    with pytest.raises(NotAllowed):
        cw.clients.put("new", principals=[])


def test_health_and_description(cw: Clockwork) -> None:
    assert cw.health() == {"status": "ok"}
    assert cw.description()["openapi"].startswith("3.1.")


def test_a_preview_saves_nothing(api: Api, cw: Clockwork) -> None:
    preview = cw.jobs.preview(cron="0 3 * * MON", timezone="Europe/Berlin", count=2)
    assert len(preview.next_fires) == 2
    assert "Monday" in preview.description
    assert api.writes == []


@pytest.mark.parametrize(
    ("options", "pointer"),
    [
        ({"cron": "x", "key": "k"}, "/schedule/cron"),
        ({"at": "1969-12-31T23:59:59Z"}, "/schedule/at"),
        ({"every": 60}, "/jobKey"),
        ({"in_": 1, "retry": retry(max_attempts=0)}, "/retryPolicy/maxAttempts"),
    ],
)
def test_the_api_judges_and_its_pointers_are_kept(cw: Clockwork, options: Any, pointer: str) -> None:
    with pytest.raises(Invalid) as caught:
        cw.schedule(HOOK, **options)
    assert pointer in caught.value.pointers


def test_what_the_client_knows_to_be_wrong_is_not_sent(api: Api, cw: Clockwork) -> None:
    with pytest.raises(TypeError, match="unknown option 'cronn': known are"):
        cw.schedule(HOOK, cronn="* * * * *")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="time zone"):
        cw.schedule(HOOK, at=datetime(2027, 1, 1))  # noqa: DTZ001
    assert api.calls == []


def test_the_same_key_is_the_same_job(cw: Clockwork) -> None:
    first = cw.schedule(HOOK, 1, in_=60, idempotency_key="order-17")
    assert cw.schedule(HOOK, 1, in_=60, idempotency_key="order-17") == first
    with pytest.raises(Conflict):
        cw.schedule(HOOK, 2, in_=60, idempotency_key="order-17")
    assert cw.schedule(HOOK, 1, in_=60).job_id != first.job_id


def test_a_list_of_another_is_refused(api: Api) -> None:
    cw = client_of(InMemory(api), client_id="globex")
    refusals: list[tuple[type[Refused], Callable[[], object]]] = [
        (NotAllowed, lambda: cw.schedule(sqs("arn"), in_=5)),
        (NotAllowed, lambda: list(cw.jobs)),
        (NotFound, lambda: cw.jobs.get("nothing")),
    ]
    for kind, call in refusals:
        with pytest.raises(kind):
            call()


def test_a_client_that_creates_too_fast_is_told_when(api: Api, cw: Clockwork) -> None:
    on(api, ADMIN).clients.put("acme", principals=["arn:aws:iam::111111111111:user/alice"], jobs_per_day=1)
    cw.schedule(HOOK, in_=60)
    with pytest.raises(TooManyRequests) as caught:
        cw.schedule(HOOK, in_=60)
    assert caught.value.retry_after is not None
    assert caught.value.retry_after > 30


def test_a_page_of_a_list_is_one_call_and_its_token_leads_on(api: Api, cw: Clockwork) -> None:
    for number in range(5):
        cw.schedule(HOOK, 1, key=f"job-{number}", every=60)
    pages = cw.jobs.list(page_size=2)
    assert [one.job_key for one in pages.page()] == ["job-0", "job-1"]
    assert pages.next_token is not None
    assert next(pages).job_key == "job-2"
    assert [one.job_key for one in pages.page()] == ["job-3"]
    assert [one.job_key for one in pages.page()] == ["job-4"]
    assert pages.page() == []
