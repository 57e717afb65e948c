"""Circuit breakers: Clockwork stops calling a target that keeps failing; failures due to payloads do not count."""

from __future__ import annotations

import pytest

from clockwork.domain.executions import State
from clockwork.domain.limits import circuits as limits
from clockwork.domain.limits.circuits import KEPT_MS, LONGEST_COOLDOWN_MS, WINDOW, Ratio
from clockwork.domain.policies import RetryPolicy
from clockwork.flows.deliver import circuits
from clockwork.settings import Settings
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.support.examples import failure, success
from tests.support.regulated import Regulated

#: The least number of outcomes that opens a circuit in these tests.
LEAST = Settings.for_local().circuit_least_outcomes


def test_a_target_that_keeps_failing_is_left_alone_probed_and_then_gets_its_backlog() -> None:
    regulated = Regulated()
    regulated.accepts = False
    steady = RetryPolicy(max_attempts=3, backoff="fixed", initial_seconds=1, jitter="none")
    regulated.create(LEAST, retry_policy=steady)
    regulated.run(8)
    assert regulated.clockwork.regulation.circuits("acme")
    regulated.create(20, retry_policy=steady)
    tried = len(regulated.run(20))
    assert tried <= 1
    assert regulated.parked >= 19
    regulated.accepts = True
    regulated.create(1, delay_ms=40_000, retry_policy=steady)
    regulated.run(90)
    assert not regulated.clockwork.regulation.circuits("acme")
    for _ in range(3):
        regulated.sweep()
        regulated.run(60)
    assert regulated.parked == 0
    assert regulated.states() <= {State.SUCCEEDED, State.DEAD}


def test_another_host_of_the_client_is_not_held_back() -> None:
    regulated = Regulated()
    regulated.accepts = False
    regulated.create(LEAST, retry_policy=RetryPolicy(max_attempts=1))
    regulated.run(8)
    regulated.accepts = True
    regulated.create(3, target=HttpTarget("https://other.example/hook"))
    assert len(regulated.run(10)) == 3


def test_a_target_that_fails_for_one_payload_only_delivers_the_others_and_opens_no_circuit() -> None:
    regulated = Regulated()
    bad, good = (Payload(body) for body in (b"1", b"2"))
    now = regulated.clockwork.clock.now
    regulated.clockwork.targets._answer = lambda d: (
        failure(started_at=now(), ended_at=now()) if d.occurrence.payload == bad else success(now())
    )
    once_more = RetryPolicy(max_attempts=4, backoff="none")
    for _ in range(10):
        regulated.create(5, payload=good, retry_policy=once_more)
        regulated.create(1, payload=bad, retry_policy=once_more)
    regulated.run(20)
    states = [record.state for record in regulated.clockwork.executions.all()]
    assert (states.count(State.SUCCEEDED), states.count(State.DEAD)) == (50, 10)
    assert not regulated.clockwork.regulation.circuits("acme")


def test_a_success_opens_no_circuit_whatever_went_before_it() -> None:
    ratio = Ratio()
    for _ in range(LEAST - 1):
        ratio.note(failure())
    ratio.note(success(0))
    assert not ratio.is_failing(LEAST)
    ratio.note(failure())
    assert ratio.is_failing(LEAST)


def test_a_few_failures_open_no_circuit_and_half_of_many_do() -> None:
    least = Settings.for_account().circuit_least_outcomes
    few = Ratio()
    for _ in range(least - 1):
        few.note(failure())
    assert not few.is_failing(least)
    few.note(failure())
    assert few.is_failing(least)
    after_successes = Ratio()
    for _ in range(1_000):
        after_successes.note(success())
    for _ in range(WINDOW // 2 - 1):
        after_successes.note(failure())
    assert not after_successes.is_failing(least)
    after_successes.note(failure())
    assert after_successes.is_failing(least)


def test_what_is_wrong_with_payloads_opens_no_circuit() -> None:
    regulated = Regulated()
    regulated.clockwork.targets._answer = lambda d: failure(permanent=True)
    regulated.create(30)
    regulated.run(10)
    assert not regulated.clockwork.regulation.circuits("acme")


def test_a_failed_retry_counts_for_nothing_the_second_attempt_included() -> None:
    regulated = Regulated()
    regulated.accepts = False
    twice = RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=1, jitter="none")
    regulated.create((LEAST + 1) // 2, retry_policy=twice)
    assert len(regulated.run(20)) >= LEAST
    assert not regulated.clockwork.regulation.circuits("acme")


def test_an_environment_forgets_the_outcomes_of_the_host_it_met_longest_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(circuits, "MOST_RATIOS", 3)
    regulated = Regulated()
    for number in (0, 1, 2, 0, 3, 4):
        regulated.create(1, target=HttpTarget(f"https://host-{number}.example/hook"))
        regulated.run(10)
    hosts = [host for _, host in regulated.clockwork.world.environment.ratios]
    assert hosts == ["host-0.example", "host-3.example", "host-4.example"]


def shut(regulated: Regulated, *names: str) -> None:
    """Let each of these hosts fail so often that its circuit opens, all at about the same time."""
    regulated.accepts = False
    for name in names:
        once = RetryPolicy(max_attempts=1)
        regulated.create(LEAST, target=HttpTarget(f"https://{name}.example.com/"), retry_policy=once)
    regulated.run(6)


def test_circuits_of_a_client_are_bounded_and_the_one_whose_probe_may_come_for_longest_goes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "MOST_CIRCUITS", 4)
    regulated = Regulated()
    opened = regulated.clockwork.regulation.circuits
    # While none of the others may be probed, the fifth host gets no circuit.
    shut(regulated, *"abcde")
    assert len(opened("acme")) == 4
    first = set(opened("acme"))
    regulated.run(60)
    oldest = min(opened("acme").values(), key=lambda one: one.probe_at).host
    shut(regulated, "f")
    assert set(opened("acme")) == first - {oldest} | {"f.example.com"}


def test_a_circuit_that_nothing_has_met_for_a_day_is_gone_and_may_open_again() -> None:
    regulated = Regulated()
    shut(regulated, "a")
    assert len(regulated.clockwork.regulation.circuits("acme")) == 1
    regulated.clockwork.clock.advance(KEPT_MS + LONGEST_COOLDOWN_MS)
    assert not regulated.clockwork.regulation.circuits("acme")
    shut(regulated, "a")
    assert len(regulated.clockwork.regulation.circuits("acme")) == 1


def test_a_circuit_behind_which_something_waits_does_not_end() -> None:
    regulated = Regulated()
    shut(regulated, "a")
    target = HttpTarget("https://a.example.com/")
    regulated.create(30, target=target, retry_policy=RetryPolicy(max_attempts=1))
    regulated.run(10)
    parked = regulated.parked
    assert parked > 0
    (before,) = regulated.clockwork.regulation.circuits("acme").values()
    regulated.run(60)
    regulated.sweep()
    regulated.run(60)
    (after,) = regulated.clockwork.regulation.circuits("acme").values()
    assert after.ends_at > before.ends_at
