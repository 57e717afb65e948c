"""Reads have a pace: who reads too much is told when to come again, and nobody else notices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from clockwork.aws.errors import HotPartition
from clockwork.domain.ids import NamedJobId
from clockwork.domain.requests.reading import PAGE_UNITS, Meter
from clockwork.flows.requests import read as requests_read
from clockwork.flows.requests import upcoming
from clockwork.memory.executions import MemoryExecutions
from clockwork.memory.jobs import MemoryJobs
from clockwork.memory.requests import MemoryActivity
from clockwork.memory.timeline import MemoryTimeline
from clockwork.ports import Listed
from tests.handlers.handlers import Answer, Api
from tests.support.examples import ADMIN, ALICE, BOB

EVERY = {"every": {"seconds": 600}}
#: The price (read units) of each call of a store that meters nothing itself: far more than a client's debt may be.
MUCH = 20_000
CALLS = {
    MemoryJobs: ("get", "list"),
    MemoryExecutions: ("find", "list", "dead", "retrying"),
    MemoryTimeline: ("find", "read"),
    MemoryActivity: ("list",),
}


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def job_id(api: Api) -> str:
    return str(api.create(jobKey="tick", schedule=EVERY).body["jobId"])


@pytest.fixture
def dear(api: Api, job_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on each read of a store costs MUCH, as if all that is stored were large."""
    assert job_id
    meter: Meter = api.clockwork.world.environment.meter

    def told(call: Callable[..., Any]) -> Callable[..., Any]:
        def read(self: Any, *which: Any, **how: Any) -> Any:
            meter.read("table", "acme", MUCH)
            return call(self, *which, **how)

        return read

    for store, names in CALLS.items():
        for name in names:
            monkeypatch.setattr(store, name, told(getattr(store, name)))


def refused(answer: Answer) -> bool:
    """Whether it was refused for its pace. Such an answer says how long to wait, and names the limit and the fix."""
    if answer.status != 429:
        return False
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.content_type == "application/problem+json"
    assert "1,250 read units" in answer.body["detail"] or "250 read units" in answer.body["detail"]
    assert "ask less often" in answer.body["detail"] or "read before asking" in answer.body["detail"]
    return True


LOOKS: Mapping[str, Callable[[str], str]] = {
    "job": lambda job_id: f"/v1/jobs/{job_id}",
    "jobs": lambda _: "/v1/jobs",
    "executions": lambda job_id: f"/v1/jobs/{job_id}/executions",
    "execution": lambda job_id: f"/v1/executions/{job_id}.1700000000000.0",
    "upcoming": lambda _: "/v1/upcoming",
    "dead": lambda _: "/v1/clients/acme/dead",
    "runs": lambda _: "/v1/clients/acme/runs",
    "activity": lambda _: "/v1/clients/acme/activity",
    "attention": lambda _: "/v1/clients/acme/attention",
    "usage": lambda _: "/v1/clients/acme/usage",
    "counts": lambda _: "/v1/clients/acme/jobs/counts",
    "fires": lambda job_id: f"/v1/jobs/{job_id}/fires",
}


@pytest.mark.usefixtures("dear")
@pytest.mark.parametrize("look", LOOKS)
def test_each_kind_of_read_is_charged_and_then_refused_and_let_in_again(api: Api, job_id: str, look: str) -> None:
    path = LOOKS[look](job_id)
    assert not refused(api.call("GET", path))
    answer = api.call("GET", path)
    assert refused(answer)
    assert {call.partition(".")[0] for call in api.calls} <= {"clients"}  # no other store is read
    assert refused(api.call("GET", "/v1/audit"))
    api.clockwork.clock.at += 1000 * int(answer.headers["Retry-After"])
    assert not refused(api.call("GET", path))


def test_a_count_reads_no_more_than_a_page_and_says_that_there_is_more(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        api.create(jobKey=f"job-{number}", schedule=EVERY)
    meter, lists, read = api.clockwork.world.environment.meter, MemoryJobs.list, []

    def one_dear_job(self: MemoryJobs, client_id: str, prefix: str | None, after: str | None, _: int) -> Listed:
        meter.read("jobs", client_id, PAGE_UNITS / 2)
        read.append(after)
        return lists(self, client_id, prefix, after, 1)

    monkeypatch.setattr(MemoryJobs, "list", one_dear_job)
    monkeypatch.setattr(requests_read, "MOST_BYTES", 1)
    body = api.call("GET", "/v1/clients/acme/jobs/counts").body
    assert (body["count"], body["more"], len(read)) == (2, True, 2)
    assert api.call("GET", "/v1/jobs").status == 200


def test_a_page_of_what_is_to_come_ends_early_where_its_jobs_are_dear(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = [f"job-{number:02d}" for number in range(40)]
    for number, key in enumerate(keys):
        answer = api.create(jobKey=key, schedule={"cron": f"{number} 10 * * *", "timezone": "UTC"})
        if number % 2:
            api.call("POST", f"/v1/jobs/{answer.body['jobId']}/pause")
    meter, get = api.clockwork.world.environment.meter, MemoryJobs.get

    def dear(self: MemoryJobs, job_refs: Sequence[tuple[str, str]]) -> Any:
        meter.read("jobs", "acme", len(job_refs) * PAGE_UNITS / 10)
        return get(self, job_refs)

    monkeypatch.setattr(MemoryJobs, "get", dear)
    monkeypatch.setattr(upcoming, "ASKED_AT_ONCE", 5)
    query, shown, pages = {"to": "2023-11-15T12:00:00Z"}, list[str](), 0
    while True:
        body = api.call("GET", "/v1/upcoming", query=query).body
        assert meter.price <= PAGE_UNITS * 1.5 + 100
        shown, pages = [*shown, *(one["jobKey"] for one in body["items"])], pages + 1
        if "nextToken" not in body:
            break
        query["nextToken"] = body["nextToken"]
    assert (shown, pages) == (keys[::2], 5)


@pytest.mark.usefixtures("dear")
def test_who_reads_too_much_keeps_its_changes_and_other_clients_their_reads(api: Api, job_id: str) -> None:
    theirs = api.call("POST", "/v1/jobs", {**BODY, "jobKey": "theirs"}, caller=BOB).body["jobId"]
    while not refused(api.call("GET", f"/v1/jobs/{job_id}")):
        pass
    assert api.create().status == 201
    assert api.call("DELETE", f"/v1/jobs/{job_id}").status == 200
    assert api.call("GET", f"/v1/jobs/{theirs}", caller=BOB).status == 200


BODY = {"schedule": EVERY, "target": {"type": "http", "url": "https://example.com/hook"}, "payload": {"n": 1}}
IN_VAIN: Mapping[str, Callable[[Api, str], Answer]] = {
    "a revision that is over": lambda api, job: api.call("PATCH", job, {"payload": 2}, headers={"if-match": "77"}),
    "what is so already": lambda api, job: api.call("PATCH", job, {}),
    "a resume of what runs": lambda api, job: api.call("POST", f"{job}/resume"),
    "the same job again": lambda api, _: api.create(jobKey="tick", schedule=EVERY),
    "another job of that key": lambda api, _: api.create(jobKey="tick", schedule=EVERY, payload=7),
    "an execution that is none": lambda api, job: api.call(
        "POST", f"/v1/executions/{job.removeprefix('/v1/jobs/')}.1700000000000.0/redrive"
    ),
    "a token that is none": lambda api, job: api.call(
        "POST", f"/v1/executions/{job.removeprefix('/v1/jobs/')}.1700000000000.0/complete", {"token": "x"}
    ),
    "many jobs that none are": lambda api, _: api.call("POST", "/v1/clients/acme/jobs/cancel", {"prefix": "zzz"}),
}


@pytest.mark.usefixtures("dear")
@pytest.mark.parametrize("kind", IN_VAIN)
def test_changes_that_change_nothing_are_charged_for_what_they_read(api: Api, job_id: str, kind: str) -> None:
    answers = [IN_VAIN[kind](api, f"/v1/jobs/{job_id}") for _ in range(2)]
    assert not refused(answers[0])
    assert refused(answers[1])
    assert api.call("GET", f"/v1/jobs/{job_id}").status == 200  # reads have a pace of their own


@pytest.mark.usefixtures("dear")
def test_an_admin_is_let_in_and_the_client_pays(api: Api, job_id: str) -> None:
    for _ in range(3):
        assert api.call("GET", f"/v1/jobs/{job_id}", caller=ADMIN).status == 200
    assert refused(api.call("GET", f"/v1/jobs/{job_id}"))


@pytest.mark.usefixtures("dear")
@pytest.mark.parametrize("path", ["/v1/jobs/{}", "/v1/jobs/{}/executions", "/v1/executions/{}.1700000000000.0"])
def test_what_is_another_clients_is_not_read_and_not_charged(api: Api, job_id: str, path: str) -> None:
    made_up = NamedJobId("acme", "never", 1).job_id
    answers = [api.call("GET", path.format(one), caller=BOB) for one in (job_id, made_up) * 3]
    assert {(answer.status, answer.text) for answer in answers} == {(404, answers[0].text)}
    assert not {"jobs.get", "executions.find", "executions.list"} & set(api.calls)
    assert api.call("GET", f"/v1/jobs/{job_id}").status == 200


@pytest.mark.usefixtures("dear")
def test_ids_that_nobody_has_are_charged_to_whoever_asks(api: Api) -> None:
    path = f"/v1/jobs/{api.create().body['jobId'][:-2]}"
    job = api.create().body["jobId"]
    assert api.call("GET", f"/v1/jobs/{job}", caller=BOB).status == 404
    assert refused(api.call("GET", f"/v1/jobs/{job}", caller=BOB))
    assert api.call("GET", path).status == 404


@pytest.mark.usefixtures("dear")
def test_usage_tells_the_pace_the_debt_and_what_was_refused(api: Api, job_id: str) -> None:
    api.call("PATCH", f"/v1/jobs/{job_id}", {})
    api.call("PATCH", f"/v1/jobs/{job_id}", {})
    usage = api.call("GET", "/v1/clients/acme/usage", caller=ADMIN).body
    assert usage["changes"]["unitsPerSecond"] == 250
    assert usage["changes"]["owed"] >= MUCH
    assert usage["changes"]["refused"] == 1
    assert usage["reads"] == {"unitsPerSecond": 1_250, "owed": 0, "refused": 0}


@pytest.mark.parametrize("look", LOOKS)
def test_a_partition_that_dynamodb_throttles_is_429_for_its_client_alone(
    api: Api, job_id: str, look: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def throttling(*_: Any, **__: Any) -> Any:
        raise HotPartition("throttled")

    for store, names in CALLS.items():
        for name in names:
            monkeypatch.setattr(store, name, throttling)
    for _ in range(2):
        answer = api.call("GET", LOOKS[look](job_id))
        assert (answer.status, answer.headers["Retry-After"]) == (429, "2")
    assert "executions.find" not in api.calls  # the second one was not tried
    monkeypatch.undo()
    assert api.call("GET", "/v1/jobs", caller=BOB).status == 200
    api.clockwork.clock.at += 2_000
    assert api.call("GET", "/v1/jobs", caller=ALICE).status == 200
