"""Pause, resume and cancel of many named jobs: by tag or prefix, so many a call, told truthfully, resumable."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable, Undecodable
from clockwork.domain.named_jobs import JobState, NamedJob
from tests.handlers.faults import refused
from tests.handlers.handlers import Api, make_handler
from tests.handlers.test_trail import Died, Strikes, audit, fragile
from tests.support.examples import ACME, ADMIN, ALICE, BOB
from tests.support.named import jobs_of

PATH = "/v1/clients/acme/jobs"
HOURLY = {"every": {"seconds": 3_600}}


def api_with(*keys: str, **job: Any) -> Api:
    api = Api()
    for key in keys:
        tags = {"team": "billing" if key.startswith("a") else "search", key: ""}
        assert api.create(jobKey=key, schedule=HOURLY, tags=tags, **job).status == 201
    return api


def states(api: Api) -> dict[str, str]:
    jobs = jobs_of(api.clockwork, "acme")
    return {job.job_key: str(job.state) for job in jobs}


@pytest.mark.parametrize(
    ("which", "meant"),
    [
        ({"prefix": "a"}, {"a1", "a2"}),
        ({"tag": "team=search"}, {"b1"}),
        ({"tag": "team"}, {"a1", "a2", "b1"}),
        ({"tag": "a2"}, {"a2"}),
        ({"tag": "a2="}, {"a2"}),
        ({"tag": "team="}, set()),
        ({"tag": "=billing"}, set()),
        ({"prefix": "a", "tag": "team=search"}, set()),
    ],
)
@pytest.mark.parametrize(("verb", "state"), [("pause", "PAUSED"), ("cancel", "CANCELLED")])
def test_those_that_are_meant_are_changed_and_no_others(
    which: dict[str, str], meant: set[str], verb: str, state: str
) -> None:
    api = api_with("a1", "a2", "b1")
    answer = api.call("POST", f"{PATH}/{verb}", {**which, "reason": "incident 7"})
    assert (answer.status, answer.body) == (200, {"matched": len(meant), "changed": len(meant)})
    assert {key for key, one in states(api).items() if one == state} == meant
    told = [(one["action"], one["reason"], one["asked"]) for one in audit(api)]
    assert told == ([(f"{verb}Jobs", "incident 7", which)] if meant else [])
    kept = jobs_of(api.clockwork, "acme")
    assert {job.reason for job in kept if job.job_key in meant} <= {"incident 7"}


def test_a_resume_goes_on_and_a_repeat_changes_nothing() -> None:
    api = api_with("a1", "a2")
    api.call("POST", f"{PATH}/pause", {"prefix": "a"})
    assert api.call("POST", f"{PATH}/resume", {"prefix": "a"}).body == {"matched": 2, "changed": 2}
    assert api.call("POST", f"{PATH}/resume", {"prefix": "a"}).body == {"matched": 2, "changed": 0}
    assert set(states(api).values()) == {"ACTIVE"}
    assert len(audit(api)) == 2


def test_the_waiting_are_cancelled_on_request() -> None:
    api = api_with("a1")
    api.call("POST", f"{PATH}/pause", {"prefix": "a"})
    assert api.call("POST", f"{PATH}/pause", {"prefix": "a", "waiting": "cancel"}).body["changed"] == 1
    assert api.call("POST", f"{PATH}/pause", {"prefix": "a", "waiting": "cancel"}).body["changed"] == 0


def test_a_call_does_so_many_and_the_next_goes_on() -> None:
    api = api_with(*(f"a{number}" for number in range(7)))
    body: dict[str, Any] = {"tag": "team=billing", "limit": 3}
    matched = []
    while True:
        answer = api.call("POST", f"{PATH}/cancel", body).body
        matched.append(answer["matched"])
        if "nextToken" not in answer:
            break
        body["nextToken"] = answer["nextToken"]
    assert sum(matched) == 7 and max(matched) == 3
    assert set(states(api).values()) == {"CANCELLED"}


def test_a_call_ends_within_its_time_and_does_at_least_one(monkeypatch: pytest.MonkeyPatch) -> None:
    api = api_with(*(f"a{number}" for number in range(5)))
    save = type(api.clockwork.jobs).save

    def slow(self: Any, *args: Any) -> bool:
        api.clockwork.clock.at += api.clockwork.settings.api_timeout_seconds * 600
        return save(self, *args)

    monkeypatch.setattr(type(api.clockwork.jobs), "save", slow)
    calls, body = 0, {"prefix": "a"}
    while True:
        answer = api.call("POST", f"{PATH}/pause", body).body
        calls += 1
        assert answer["changed"] == 1
        if "nextToken" not in answer:
            break
        body = {"prefix": "a", "nextToken": answer["nextToken"]}
    assert calls == 5
    assert set(states(api).values()) == {"PAUSED"}


def capped(api: Api, per_second: float) -> None:
    api.clockwork.clients.put(msgspec.structs.replace(ACME, creates_per_second=per_second))


def test_what_is_resumed_counts_against_the_pace_of_the_client_before_anything_is_written() -> None:
    api = api_with("a1", "a2", "b1")
    api.call("POST", f"{PATH}/pause", {"tag": "team"})
    capped(api, 4)
    assert api.call("POST", f"{PATH}/resume", {"prefix": "a"}).status == 200
    refused(api.call("POST", f"{PATH}/resume", {"prefix": "b"}), 429)
    assert "jobs.list" not in api.calls
    assert states(api)["b1"] == "PAUSED"
    assert len(audit(api)) == 2
    assert api.call("POST", f"{PATH}/resume", {"prefix": "b"}, caller=ADMIN).body["changed"] == 1
    api.clockwork.clock.at += 2_000
    assert api.call("POST", f"{PATH}/resume", {"prefix": "b"}).status == 200


@pytest.mark.parametrize("verb", ["pause", "cancel"])
@pytest.mark.parametrize("caller", [ALICE, ADMIN])
def test_no_cap_refuses_a_brake_and_the_client_does_not_pay_for_it(verb: str, caller: str) -> None:
    keys = [f"a{number:03}" for number in range(250)]
    api = api_with(*keys)
    capped(api, 0.01)
    changed, token = [], None
    while True:
        body = {"prefix": "a", **({"nextToken": token} if token else {})}
        answer = api.call("POST", f"{PATH}/{verb}", body, caller=caller)
        assert answer.status == 200
        changed.append(answer.body["changed"])
        token = answer.body.get("nextToken")
        if token is None:
            break
    assert changed == [100, 100, 50]
    assert api.create().status == 201


def test_a_brake_that_finds_nothing_to_change_is_owed_for_and_still_not_refused() -> None:
    api = api_with(*(f"a{number:03}" for number in range(199)))
    capped(api, 1)
    for _ in range(3):  # 199 jobs are read each time: as many as one create
        assert api.call("POST", f"{PATH}/cancel", {"tag": "nobody"}).body["matched"] == 0
    refused(api.create(), 429)
    assert api.call("POST", f"{PATH}/cancel", {"tag": "nobody"}, caller=ADMIN).status == 200
    assert api.call("POST", f"{PATH}/pause", {"prefix": "a"}).body["changed"] == 100
    for _ in range(50):  # and a hundred that are paused already are looked through once more
        assert api.call("POST", f"{PATH}/pause", {"prefix": "a"}).body["matched"] == 100
    answer = api.create()
    refused(answer, 429)
    assert 50 <= int(answer.headers["Retry-After"]) <= 60
    api.clockwork.clock.at += 60_000
    assert api.create().status == 201


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
def test_a_revision_of_one_job_is_refused_where_the_call_is_about_many(verb: str) -> None:
    api = api_with("a1")
    refused(api.call("POST", f"{PATH}/{verb}", {"prefix": "a"}, headers={"If-Match": "99"}), 422)
    assert states(api) == {"a1": "ACTIVE"}
    assert api.call("POST", f"{PATH}/{verb}", {"prefix": "a"}, headers={"If-Match": "*"}).status == 200


def test_what_was_paused_for_another_reason_stays_so() -> None:
    api = api_with("a1", "a2", "a3", "a4")
    jobs = {job.job_key: job.job_id for job in jobs_of(api.clockwork, "acme")}
    assert api.call("POST", f"/v1/jobs/{jobs['a1']}/pause", {"reason": "holidays"}).status == 200
    assert api.call("POST", f"/v1/jobs/{jobs['a2']}/pause", {}).status == 200
    assert api.call("POST", f"{PATH}/pause", {"prefix": "a", "reason": "incident 7"}).body["changed"] == 2
    body = {"prefix": "a", "pausedReason": "incident 7", "reason": "mended"}
    assert api.call("POST", f"{PATH}/resume", body).body == {"matched": 2, "changed": 2}
    assert states(api) == {"a1": "PAUSED", "a2": "PAUSED", "a3": "ACTIVE", "a4": "ACTIVE"}
    assert {"prefix": "a", "pausedReason": "incident 7"} in [one.get("asked") for one in audit(api)]
    refused(api.call("POST", f"{PATH}/pause", {"prefix": "a", "pausedReason": "x"}), 422)


def walk(api: Api, verb: str, body: dict[str, Any]) -> list[dict[str, Any]]:
    answers: list[dict[str, Any]] = []
    while not answers or "nextToken" in answers[-1]:
        more = {"nextToken": answers[-1]["nextToken"]} if answers else {}
        answers.append(api.call("POST", f"{PATH}/{verb}", {**body, **more}).body)
    return answers


def test_a_job_that_cannot_be_read_is_named_and_the_others_go_on() -> None:
    api = api_with("a1", "a2", "a3")
    api.clockwork.jobs.unreadable["acme", "a2"] = Undecodable("damaged")
    assert api.call("POST", f"{PATH}/pause", {"prefix": "a"}).body == {
        "matched": 2,
        "changed": 2,
        "unreadable": ["a2"],
    }
    assert states(api) == {"a1": "PAUSED", "a3": "PAUSED"}
    listed = api.call("GET", "/v1/jobs").body
    assert ([one["jobKey"] for one in listed["items"]], listed["unreadable"]) == (["a1", "a3"], ["a2"])
    alone = api.call("GET", "/v1/jobs", query={"jobKey": "a2"}).body
    assert alone == {"items": [], "jobsRead": 1, "unreadable": ["a2"]}


def test_each_job_that_cannot_be_read_is_named_once_however_many_calls_it_takes() -> None:
    api = api_with(*(f"a{number}" for number in range(9)))
    for key in ("a0", "a4", "a8"):
        api.clockwork.jobs.unreadable["acme", key] = Undecodable("damaged")
    answers = walk(api, "cancel", {"prefix": "a", "limit": 2})
    assert [key for one in answers for key in one.get("unreadable", ())] == ["a0", "a4", "a8"]
    assert sum(one["changed"] for one in answers) == 6


@pytest.mark.parametrize("tag", ["team", "nobody"])
def test_reading_ends_with_the_time_of_a_call_and_the_next_one_goes_on(
    tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clockwork.flows.requests.read.READ_AT_ONCE", 2)
    api = api_with(*(f"a{number}" for number in range(7)))
    listed, timeout_ms = type(api.clockwork.jobs).list, api.clockwork.settings.api_timeout_seconds * 1_000

    def slow(self: Any, *args: Any) -> Any:
        api.clockwork.clock.at += timeout_ms // 4
        return listed(self, *args)

    monkeypatch.setattr(type(api.clockwork.jobs), "list", slow)
    spent = api.clockwork.clock.at
    answers = walk(api, "pause", {"tag": tag, "limit": 2})
    assert api.clockwork.clock.at - spent <= len(answers) * timeout_ms * 3 // 4
    assert sum(one["changed"] for one in answers) == (7 if tag == "team" else 0)
    seen = 0
    token: dict[str, str] | None = {}
    while token is not None:
        spent = api.clockwork.clock.at
        page = api.call("GET", "/v1/jobs", query={"tag": tag, "limit": "2", **token}).body
        assert api.clockwork.clock.at - spent <= timeout_ms * 3 // 4
        seen += len(page["items"])
        token = {"nextToken": page["nextToken"]} if "nextToken" in page else None
    assert seen == (7 if tag == "team" else 0)


def test_no_more_bytes_than_fit_are_read_by_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.flows.requests.read.MOST_BYTES", 5_000)
    api = api_with(*(f"a{number}" for number in range(6)), payload="x" * 2_000)
    answers = walk(api, "pause", {"prefix": "a"})
    assert [one["changed"] for one in answers] == [3, 3, 0]
    first = api.call("GET", "/v1/jobs").body
    assert (len(first["items"]), "nextToken" in first) == (3, True)


def test_a_job_that_is_changed_at_that_moment_is_told_of_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    api = api_with("a1", "a2", "a3")
    save = type(api.clockwork.jobs).save

    def losing(self: Any, before: NamedJob | None, after: NamedJob) -> bool:
        return False if after.job_key == "a2" else save(self, before, after)

    monkeypatch.setattr(type(api.clockwork.jobs), "save", losing)
    answer = api.call("POST", f"{PATH}/pause", {"prefix": "a"}).body
    assert (answer["matched"], answer["changed"]) == (3, 2)
    (passed,) = answer["passed"]
    assert passed["jobKey"] == "a2" and passed["reason"].startswith("the job was changed meanwhile")


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, ""),
        ({"reason": "x"}, ""),
        ({"prefix": "a\tb"}, "/prefix"),
        ({"tag": ""}, "/tag"),
        ({"tag": "x", "limit": 101}, "/limit"),
        ({"tag": "x", "nextToken": "!"}, "/nextToken"),
        ({"tag": "x", "state": "PAUSED"}, "/state"),
    ],
)
def test_a_fault_is_422_and_nothing_is_changed(verb: str, body: dict[str, Any], pointer: str) -> None:
    api = api_with("a1")
    answer = api.call("POST", f"{PATH}/{verb}", body)
    refused(answer, 422)
    assert answer.pointers == [pointer]
    assert states(api) == {"a1": "ACTIVE"}


def test_another_client_changes_nothing() -> None:
    api = api_with("a1")
    refused(api.call("POST", f"{PATH}/cancel", {"prefix": "a"}, caller=BOB), 403)
    assert api.call("POST", "/v1/clients/globex/jobs/cancel", {"prefix": "a"}, caller=ADMIN).body["matched"] == 0
    assert states(api) == {"a1": "ACTIVE"}


@pytest.mark.parametrize("verb", ["pause", "resume", "cancel"])
def test_wherever_a_call_dies_its_repeat_makes_it_whole(verb: str) -> None:
    for moment in range(200):
        api = api_with("a1", "a2", "a3")
        if verb == "resume":
            api.call("POST", f"{PATH}/pause", {"prefix": "a"})
        strikes = Strikes(moment, Died())
        handle, api.handle = api.handle, make_handler("api", fragile(api.clockwork.world, strikes))
        with suppress(Died):
            api.call("POST", f"{PATH}/{verb}", {"prefix": "a"})
        api.handle = handle
        assert api.call("POST", f"{PATH}/{verb}", {"prefix": "a"}).status == 200
        wanted = {"pause": JobState.PAUSED, "resume": JobState.ACTIVE, "cancel": JobState.CANCELLED}[verb]
        assert set(states(api).values()) == {wanted}
        started = len(api.clockwork.targets.delivered)
        api.clockwork.run_until(api.clockwork.clock.at + 7_300_000)
        delivered = len(api.clockwork.targets.delivered) - started
        assert delivered == (6 if verb == "resume" else 0)
        if len(strikes.calls) * 2 <= moment:
            assert moment > 6
            return
    raise AssertionError("the call never comes to its end")


def test_what_is_not_certain_is_told_to_be_repeated_under_the_same_token(monkeypatch: pytest.MonkeyPatch) -> None:
    api = api_with("a1", "a2")
    save, left = type(api.clockwork.jobs).save, [1]

    def failing(self: Any, before: NamedJob | None, after: NamedJob) -> bool:
        if after.job_key == "a2" and left.pop():
            raise Unavailable("throttled")
        return save(self, before, after)

    monkeypatch.setattr(type(api.clockwork.jobs), "save", failing)
    assert api.call("POST", f"{PATH}/pause", {"prefix": "a"}).status == 503
    left.append(0)
    assert api.call("POST", f"{PATH}/pause", {"prefix": "a"}).body == {"matched": 2, "changed": 1}
