"""Pause, resume and cancel of many named jobs: by tag or prefix, so many a call, told truthfully, resumable."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.named_jobs import JobState, NamedJob
from tests.handlers.faults import refused
from tests.handlers.handlers import Api, make_handler
from tests.handlers.test_trail import Died, Strikes, audit, fragile
from tests.support.examples import ACME, ADMIN, BOB

PATH = "/v1/clients/acme/jobs"
HOURLY = {"every": {"seconds": 3_600}}


def api_with(*keys: str, **job: Any) -> Api:
    api = Api()
    for key in keys:
        tags = {"team": "billing" if key.startswith("a") else "search", key: ""}
        assert api.create(jobKey=key, schedule=HOURLY, tags=tags, **job).status == 201
    return api


def states(api: Api) -> dict[str, str]:
    jobs = api.clockwork.jobs.list("acme", None, None, 1_000)
    return {job.job_key: str(job.state) for job in jobs}


@pytest.mark.parametrize(
    ("which", "meant"),
    [
        ({"prefix": "a"}, {"a1", "a2"}),
        ({"tag": "team=search"}, {"b1"}),
        ({"tag": "team"}, {"a1", "a2", "b1"}),
        ({"tag": "a2"}, {"a2"}),
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
    kept = api.clockwork.jobs.list("acme", None, None, 10)
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


def test_what_is_changed_counts_against_the_pace_of_the_client_before_anything_is_written() -> None:
    api = api_with("a1", "a2", "b1")
    api.clockwork.clients.put(msgspec.structs.replace(ACME, creates_per_second=4))
    assert api.call("POST", f"{PATH}/cancel", {"prefix": "a"}).status == 200
    refused(api.call("POST", f"{PATH}/cancel", {"prefix": "b"}), 429)
    assert states(api)["b1"] == "ACTIVE"
    assert len(audit(api)) == 1
    api.clockwork.clock.at += 2_000
    assert api.call("POST", f"{PATH}/cancel", {"prefix": "b"}).status == 200


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
