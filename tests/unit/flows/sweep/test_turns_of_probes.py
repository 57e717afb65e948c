"""Turns of probes: while a circuit is open, each occurrence behind it uses up as many attempts as the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
import pytest

from clockwork.domain.executions import Outcome, State
from clockwork.domain.lifecycle.parking import MOST_TOLD, host_prefix, parked_row
from clockwork.domain.limits.circuits import Circuit, host_of
from clockwork.domain.policies import RecordLevel, RetryPolicy
from clockwork.domain.releases import Delivery
from tests.support.examples import new_job, occurrence, release
from tests.support.regulated import Regulated

pytestmark = pytest.mark.long

PATIENT = RetryPolicy(max_attempts=100, backoff="fixed", initial_seconds=10, max_age_seconds=10**7)


def behind_a_circuit() -> Regulated:
    """A client whose target is down, and behind an open circuit."""
    regulated = Regulated()
    regulated.accepts = False
    host = host_of(new_job().target)
    assert host is not None
    circuit = Circuit("acme", host, regulated.start, regulated.start + 25_000, 30_000)
    assert regulated.clockwork.regulation.save_circuit(None, circuit)
    return regulated


def probed(regulated: Regulated, minutes: int) -> Counter[str]:
    """The attempts of each job after so many minutes, with a sweep in each."""
    for _ in range(minutes):
        regulated.run(60)
        regulated.sweep()
    return Counter(delivery.job_id for delivery in regulated.clockwork.targets.delivered)


@pytest.mark.parametrize(
    ("count", "record", "backoff"), [(80, "full", 10), (80, "none", 10), (250, "full", 10), (80, "full", 1_800)]
)
def test_each_that_waits_behind_a_circuit_has_its_turn_to_probe(
    count: int, record: RecordLevel, backoff: float
) -> None:
    regulated = behind_a_circuit()
    policy = msgspec.structs.replace(PATIENT, initial_seconds=backoff)
    jobs = regulated.create(count, retry_policy=policy, record=record)
    attempts = probed(regulated, 10 * (count + count // 2))
    used = {attempts[job_id] for job_id in jobs}
    assert used == {1, 2}


def test_a_retry_that_comes_straight_from_its_backoff_waits_for_its_turn() -> None:
    regulated = behind_a_circuit()
    circuits = regulated.clockwork.regulation.circuits
    again = release(run_at=regulated.start + 30_000, attempt=2, occurrence=occurrence(record="none"))
    regulated.clockwork.world.releases.send([again], regulated.start)
    regulated.run(31)
    ((circuit,), delivered) = circuits("acme").values(), regulated.clockwork.targets.delivered
    assert (circuit.probe_at, delivered) == (regulated.start + 25_000, [])
    regulated.sweep()
    regulated.run(5)
    assert [delivery.attempt for delivery in delivered] == [2]


def test_who_comes_later_has_its_first_turn_before_others_have_more() -> None:
    regulated = behind_a_circuit()
    regulated.create(5, retry_policy=PATIENT)
    probed(regulated, 120)
    (late,) = regulated.create(1, retry_policy=PATIENT)
    before = len(regulated.clockwork.targets.delivered)
    probed(regulated, 30)
    assert regulated.clockwork.targets.delivered[before].job_id == late


def test_a_payload_that_brings_its_host_down_does_not_probe_for_ever_and_holds_nobody_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    regulated = behind_a_circuit()
    fatal = regulated.create(1, retry_policy=RetryPolicy(max_attempts=3, backoff="none"))[0]
    good = set(regulated.create(4, delay_ms=6_000))

    answer = regulated.clockwork.targets._answer

    def answer_all_but_one(delivery: Delivery) -> Outcome:
        regulated.accepts = delivery.job_id != fatal
        return answer(delivery)

    monkeypatch.setattr(regulated.clockwork.targets, "_answer", answer_all_but_one)
    attempts = probed(regulated, 60)
    assert attempts == {fatal: 3, **dict.fromkeys(good, 1)}
    states = {record.job_id: record.state for record in regulated.clockwork.executions.all()}
    assert states == {fatal: State.DEAD, **dict.fromkeys(good, State.SUCCEEDED)}


def test_rows_behind_a_circuit_lie_by_attempt_whenever_they_were_due() -> None:
    attempts: Sequence[int] = (1, 2, 10, 100, MOST_TOLD, MOST_TOLD + 1)
    keys = [parked_row(release(attempt=attempt), "example.com").key for attempt in attempts]
    prefixes = [key.removeprefix(host_prefix("example.com")).partition("/")[0] for key in keys]
    assert prefixes == ["001", "002", "010", "100", "999", "999"]
    assert len(set(keys)) == len(keys)
    assert "/" not in parked_row(release(attempt=2)).key
