"""The testing kit beside what it stands for: it refuses as the edge does, and runs as the flows' own tests have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery as Attempt
from clockwork.memory.targets import MemoryTargets
from clockwork.settings import Settings
from clockwork_client import Clockwork, Job, Refused, http, retry
from clockwork_client.testing import VirtualClockwork
from tests.handlers.faults import FIELDS, FIFO, LISTED_ARNS, QUEUE, Fault, target
from tests.handlers.handlers import Api, job_body
from tests.handlers.test_bad_fields import CLIENT_FIELDS
from tests.sdk.edge import InMemory, client_of
from tests.support.examples import ADMIN

HOOK, FLAKY, DOWN = (http(f"https://example.com/{path}") for path in ("hook", "flaky", "down"))
STEADY = retry(max_attempts=3, initial_seconds=5, jitter="none")


class Sent:
    """A kit at the instant of those faults, whose client may target what they name."""

    def __init__(self) -> None:
        self.kit = VirtualClockwork(at="2023-11-14T22:13:20Z")
        self.acme = self.kit.client("acme", allowedQueueArns=[QUEUE, FIFO], allowedTargetArns=LISTED_ARNS)

    def pointers(self, cw: Clockwork, method: str, path: str, body: Any) -> tuple[int, list[str], list[str]]:
        """The status, the pointers and the details of a refusal."""
        with pytest.raises(Refused) as refused:
            cw._caller.call(method, path, body)
        error = refused.value
        return error.status, [one.pointer for one in error.faults], [one.detail for one in error.faults]


@pytest.fixture
def sent() -> Sent:
    return Sent()


#: The tests of the edge are of the stage `local`, the kit is of an account.
LONG = Fault("a timeout over the account's", target(timeoutSeconds=30.1), "/target/timeoutSeconds", "at most 30")
OF_AN_ACCOUNT = [LONG if fault.id == "a timeout over the stage's" else fault for fault in FIELDS]


@pytest.mark.parametrize("fault", OF_AN_ACCOUNT, ids=[fault.id for fault in OF_AN_ACCOUNT])
def test_a_fault_of_a_job_is_refused_with_the_edges_pointer(sent: Sent, fault: Fault) -> None:
    status, pointers, details = sent.pointers(sent.acme, "POST", "/v1/jobs", job_body(**fault.body))
    assert (status, pointers) == (422, [fault.pointer])
    assert fault.says in details[0]
    assert sent.kit.scheduled() == []


@pytest.mark.parametrize("fault", CLIENT_FIELDS, ids=[fault.id for fault in CLIENT_FIELDS])
def test_a_fault_of_a_client_is_refused_with_the_edges_pointer(sent: Sent, fault: Fault) -> None:
    with pytest.raises(Refused) as refused:
        sent.kit.client("globex", **fault.body)
    assert (refused.value.status, refused.value.faults[0].pointer) == (422, fault.pointer)
    assert fault.says in refused.value.faults[0].detail
    assert "globex" not in [one.client_id for one in sent.kit.admin.clients]


#: Makes jobs, lets time pass until instants that are no fire's, and returns the jobs.
Scenario = Callable[[Clockwork, Callable[[str], None]], list[Job]]


def dst_in_spring(cw: Clockwork, until: Callable[[str], None]) -> list[Job]:
    """New York leaves out 02:00 to 03:00 on 8 March: eight fires that day, and twelve on the next."""
    made = cw.schedule(HOOK, 1, cron="*/15 1-3 * * *", timezone="America/New_York", key="job", retry=STEADY)
    until("2026-03-09T12:05:00Z")
    return [made]


def dst_in_autumn(cw: Clockwork, until: Callable[[str], None]) -> list[Job]:
    """New York has 01:00 to 02:00 twice on 1 November: 01:30 comes once, and a rhythm goes on."""
    zone = "America/New_York"
    once = cw.schedule(HOOK, 1, cron="30 1 * * *", timezone=zone, key="job", retry=STEADY)
    often = cw.schedule(HOOK, 1, cron="*/20 * * * *", timezone=zone, key="often", retry=STEADY)
    until("2026-11-01T12:05:00Z")
    return [once, often]


def retries(cw: Clockwork, until: Callable[[str], None]) -> list[Job]:
    made = cw.schedule(FLAKY, 1, every=600, key="job", retry=STEADY)
    until("2026-03-07T13:05:00Z")
    return [made]


def dead(cw: Clockwork, until: Callable[[str], None]) -> list[Job]:
    made = cw.schedule(DOWN, 1, every=600, key="job", retry=STEADY)
    until("2026-03-07T13:05:00Z")
    return [made]


def cap(cw: Clockwork, until: Callable[[str], None]) -> list[Job]:
    made = [cw.schedule(FLAKY, n, at="2026-03-07T12:10:00Z", retry=STEADY) for n in range(5)]
    until("2026-03-07T13:05:00Z")
    return made


def pause(cw: Clockwork, until: Callable[[str], None]) -> list[Job]:
    """Two fires before the pause, three in it, which are caught up, and seven behind it."""
    made = cw.schedule(HOOK, 1, every=600, key="job", catch_up="all", retry=STEADY)
    until("2026-03-07T12:25:00Z")
    cw.jobs.pause(made.job_id)
    until("2026-03-07T12:55:00Z")
    cw.jobs.resume(made.job_id)
    until("2026-03-07T14:05:00Z")
    return [made]


def cancel(cw: Clockwork, until: Callable[[str], None]) -> list[Job]:
    """One is cancelled before its release, one after it, one between two attempts, and one is not."""
    early, late, kept = (cw.schedule(HOOK, 1, at="2026-03-07T12:30:00Z", retry=STEADY) for _ in range(3))
    failing = cw.schedule(DOWN, 1, at="2026-03-07T12:29:58Z", retry=STEADY)
    until("2026-03-07T12:10:00Z")
    cw.jobs.cancel(early.job_id)
    until("2026-03-07T12:29:59Z")
    cw.jobs.cancel(late.job_id)
    cw.jobs.cancel(failing.job_id)
    until("2026-03-07T13:05:00Z")
    return [early, late, kept, failing]


def status_of(attempt: int, url: str) -> int:
    """What is down is down, and what is flaky fails once."""
    return 503 if url.endswith("/down") or (attempt == 1 and url.endswith("/flaky")) else 200


def history(cw: Clockwork, jobs: list[Job]) -> list[Any]:
    """Every execution: of which of the jobs, when it was due, how it ended, and each of its attempts."""
    return [
        (number, run.due_at, run.state, [(a.number, a.state, a.started_at, a.status_code) for a in run.attempts or ()])
        for number, made in enumerate(jobs)
        for run in cw.executions.list(made.job_id)
    ]


def by_the_flows(scenario: Scenario) -> list[Any]:
    """The scenario as the flows' own tests run it: a tick a minute, bundles, delays of whole seconds."""
    account = {one.name: getattr(Settings.for_account(), one.name) for one in fields(Settings)}
    api = Api(**{name: value for name, value in account.items() if name != "admin_principals"})
    clock = api.clockwork.clock

    def answer(attempt: Attempt) -> Outcome:
        status = status_of(attempt.attempt, attempt.occurrence.target.url)  # type: ignore[union-attr]
        state = State.SUCCEEDED if status == 200 else State.FAILED
        return Outcome(state, clock.at, clock.at, status_code=status, error=None if status == 200 else "answered 503")

    api.clockwork.world = replace(api.clockwork.world, targets=MemoryTargets(clock, answer))
    clock.at = ms(begin(scenario))
    client_of(InMemory(api, ADMIN)).clients.put("acme", principals=[ADMIN], **limits(scenario))
    cw = client_of(InMemory(api, ADMIN))
    return history(cw, scenario(cw, lambda at: api.clockwork.run_until(ms(at))))


def by_the_kit(scenario: Scenario) -> list[Any]:
    v = VirtualClockwork(at=begin(scenario))
    v.on_deliver(lambda one: status_of(one.attempt, one.target.raw["url"]))
    cw = v.client("acme", **limits(scenario))
    return history(cw, scenario(cw, v.run_until))


def begin(scenario: Scenario) -> str:
    return "2026-10-31T12:05:00Z" if scenario is dst_in_autumn else "2026-03-07T12:00:00Z"


def limits(scenario: Scenario) -> dict[str, Any]:
    return {"max_rate_per_second": 1} if scenario is cap else {}


def ms(text: str) -> int:
    return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("scenario", "executions"),
    [(dst_in_spring, 20), (dst_in_autumn, 73), (retries, 6), (dead, 6), (cap, 5), (pause, 12), (cancel, 4)],
)
def test_a_scenario_goes_as_the_flows_have_it(scenario: Scenario, executions: int) -> None:
    ours, theirs = by_the_kit(scenario), by_the_flows(scenario)
    if scenario is cap:  # which of them is the first, is chance
        ours, theirs = (sorted(attempt for *_, run in runs for attempt in run) for runs in (ours, theirs))
        executions = 10
    assert len(ours) == executions
    assert ours == theirs
