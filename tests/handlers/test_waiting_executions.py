"""An execution that waits says for what and until when; if nobody knows the end, it says that."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.instants import to_text
from clockwork.domain.lifecycle.holding import holding_of
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.waits import Held, Line
from clockwork.flows.sweep.unpark import unpark
from tests.handlers.handlers import Api
from tests.support.examples import ACME, ADMIN, NOW, execution


def failing() -> Api:
    api = Api()

    def fail(_: Any) -> Outcome:
        at = api.clockwork.clock.at
        return Outcome(State.FAILED, at, at, error="HTTP 500")

    api.clockwork.targets._answer = fail
    return api


def waiting(api: Api, job_id: str) -> dict[str, Any] | None:
    (one,) = api.call("GET", f"/v1/jobs/{job_id}/executions").body["items"]
    assert "waiting" not in one
    shown = api.call("GET", f"/v1/executions/{one['executionId']}").body
    found: dict[str, Any] | None = shown.get("waiting")
    return found


STEADY = {"initialSeconds": 300, "backoff": "fixed", "jitter": "none"}


def test_a_retry_is_until_its_instant() -> None:
    api = failing()
    job_id = api.create(schedule={"delaySeconds": 1}, retryPolicy=STEADY).body["jobId"]
    api.clockwork.run_until(api.clockwork.clock.at + 5_000)
    (record,) = api.clockwork.executions.all()
    assert record.waits.next_attempt_at is not None
    found = waiting(api, job_id)
    assert found is not None
    assert (found["cause"], found["until"]) == ("retry", to_text(record.waits.next_attempt_at))


def test_a_pause_is_until_nobody_knows_when_and_then_a_sweep_unparks_it() -> None:
    api = Api()
    job_id = api.create(schedule={"delaySeconds": 1}).body["jobId"]
    api.call("POST", "/v1/clients/acme/pause", {}, caller=ADMIN)
    api.clockwork.run_until(api.clockwork.clock.at + 5_000)
    found = waiting(api, job_id)
    assert found is not None
    assert found["cause"] == "pause" and "until" not in found and "no end is known" in found["says"]
    api.call("POST", "/v1/clients/acme/resume", {}, caller=ADMIN)
    found = waiting(api, job_id)
    assert found is not None
    assert found["cause"] == "unpark" and "until" not in found
    unpark(api.clockwork.world, api.clockwork.clock.at + 60_000)
    api.clockwork.run_until(api.clockwork.clock.at + 60_000)
    assert waiting(api, job_id) is None


@pytest.mark.parametrize("key", [None, "k"])
def test_a_circuit_is_until_its_next_probe(key: str | None) -> None:
    api = Api()
    now = api.clockwork.clock.at
    circuit = Circuit("acme", "example.com", now, now + 400_000, 400_000)
    assert api.clockwork.regulation.save_circuit(None, circuit)
    job_id = api.create(schedule={"delaySeconds": 1}, **({} if key is None else {"jobKey": key})).body["jobId"]
    api.clockwork.run_until(now + 5_000)
    found = waiting(api, job_id)
    assert found is not None
    assert (found["cause"], found["until"]) == ("circuit", to_text(now + 400_000))


def test_what_runs_or_has_ended_waits_for_nothing_and_costs_no_read() -> None:
    api = Api()
    job_id = api.create(schedule={"delaySeconds": 1}).body["jobId"]
    api.clockwork.run_until(api.clockwork.clock.at + 5_000)
    (one,) = api.call("GET", f"/v1/jobs/{job_id}/executions").body["items"]
    shown = api.call("GET", f"/v1/executions/{one['executionId']}")
    assert shown.body["state"] == "SUCCEEDED" and "waiting" not in shown.body
    assert "regulation.circuits" not in api.calls and "timeline.find" not in api.calls


def test_what_cannot_be_read_now_hides_no_execution(monkeypatch: pytest.MonkeyPatch) -> None:
    api = Api()
    job_id = api.create(schedule={"delaySeconds": 1}).body["jobId"]
    api.call("POST", "/v1/clients/acme/pause", {}, caller=ADMIN)
    api.clockwork.run_until(api.clockwork.clock.at + 5_000)

    def throttled(*_: Any) -> Any:
        raise Unavailable("throttled")

    monkeypatch.setattr(type(api.clockwork.regulation), "circuits", throttled)
    found = waiting(api, job_id)
    assert found is not None and found["cause"] == "pause"


def held(state: State = State.PENDING, **fields: Any) -> Execution:
    return execution(state, **fields)


@pytest.mark.parametrize(
    ("record", "is_paused", "probe_at", "told"),
    [
        (held(next_attempt_at=NOW + 5, paced=True), False, None, ("cap", NOW + 5)),
        (held(next_attempt_at=NOW + 5), True, NOW + 9, ("retry", NOW + 5)),
        (held(next_attempt_at=NOW - 5), True, NOW + 9, ("pause", None)),
        (held(next_attempt_at=NOW - 5), False, NOW + 9, ("circuit", NOW + 9)),
        (held(next_attempt_at=NOW - 5), False, NOW, ("circuit", None)),
        (held(next_attempt_at=NOW - 5, line=Line(NOW + 7, NOW)), False, None, ("cap", NOW + 7)),
        (held(next_attempt_at=NOW - 5, line=Line(None, NOW)), False, None, ("cap", None)),
        (held(next_attempt_at=NOW - 5), False, None, ("delivery", None)),
        (held(State.FAILED, next_attempt_at=NOW - 5), False, None, ("delivery", None)),
        (held(State.PARKED, held=Held("pause", NOW)), False, None, ("unpark", None)),
        (held(State.PARKED, held=Held("circuit", NOW)), False, None, ("unpark", None)),
        (held(State.PARKED, held=Held("circuit", NOW)), True, None, ("pause", None)),
        (held(held=Held("pause", NOW)), False, None, ("delivery", None)),
        (held(held=Held("permit", NOW)), False, None, ("permit", None)),
        (held(State.PARKED), False, None, ("unpark", None)),
    ],
)
def test_what_holds_an_execution(
    record: Execution, is_paused: bool, probe_at: int | None, told: tuple[str, int | None]
) -> None:
    found = holding_of(record, NOW, is_paused=is_paused, probe_at=probe_at)
    assert found is not None
    assert (found.wait, found.until) == told
    # An estimate, or no end, is said to be so.
    assert ("no end is known" in found.says) == (found.until is None and found.wait != "cap")


@pytest.mark.parametrize("state", [one for one in State if one.name in ("RUNNING", "SUCCEEDED", "DEAD", "CANCELLED")])
def test_nothing_holds_what_runs_or_has_ended(state: State) -> None:
    assert holding_of(execution(state), NOW, is_paused=True, probe_at=NOW + 5) is None


def test_a_retry_waits_for_its_instant_in_a_pause_too() -> None:
    api = failing()
    job_id = api.create(schedule={"delaySeconds": 1}, retryPolicy=STEADY).body["jobId"]
    api.clockwork.run_until(api.clockwork.clock.at + 5_000)
    api.clockwork.clients.put(msgspec.structs.replace(ACME, paused=True))
    found = waiting(api, job_id)
    assert found is not None and found["cause"] == "retry"
