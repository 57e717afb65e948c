"""The testing kit beside what it stands for: its scenarios go as the flows' own tests have them.

tests/e2e/test_testing_kit.py has it beside the deployed stack, and tests/handlers sends it whatever is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import Outcome, State
from clockwork.domain.releases import Delivery as Attempt
from clockwork.memory.targets import MemoryTargets
from clockwork.settings import Settings
from clockwork_client import Clockwork, Job, Refused, http, retry
from clockwork_client.testing import VirtualClockwork
from tests.handlers.handlers import Api
from tests.sdk.edge import InMemory, client_of
from tests.support.examples import ADMIN

HOOK, FLAKY, DOWN = (http(f"https://example.com/{path}") for path in ("hook", "flaky", "down"))
STEADY = retry(max_attempts=3, initial_seconds=5, jitter="none")


@pytest.mark.parametrize(("seconds", "is_taken"), [(30, True), (30.1, False)])
def test_the_bounds_of_the_kit_are_those_of_an_account(seconds: float, is_taken: bool) -> None:
    # What else is refused is in tests/handlers, whose tests run over the kit as well.
    cw = VirtualClockwork().client("acme")
    late = http("https://example.com/hook", timeout_seconds=seconds)
    if is_taken:
        assert cw.schedule(late, in_=5).state == "SCHEDULED"
        return
    with pytest.raises(Refused) as refused:
        cw.schedule(late, in_=5)
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.detail) == ("/target/timeoutSeconds", "must be at most 30")


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
    """A target that is down fails each time, and one that is flaky fails once."""
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
    account = msgspec.structs.asdict(Settings.for_account())
    api = Api(**{name: value for name, value in account.items() if name != "admin_principals"})
    clock = api.clockwork.clock

    def answer(attempt: Attempt) -> Outcome:
        status = status_of(attempt.attempt, attempt.occurrence.target.url)  # type: ignore[union-attr]
        state = State.SUCCEEDED if status == 200 else State.FAILED
        return Outcome(state, clock.at, clock.at, status_code=status, error=None if status == 200 else "answered 503")

    api.clockwork.world = api.clockwork.world.with_(targets=MemoryTargets(clock, answer))
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
