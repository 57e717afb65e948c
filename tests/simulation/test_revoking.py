"""The judge of grants sees an attempt at a target that was taken away, and a refusal of one that was not."""

from __future__ import annotations

import pytest

from clockwork.domain.executions import Attempt, Execution, State
from clockwork.domain.releases import Delivery
from clockwork.targets.http import HttpTarget
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.registry import Target
from clockwork.targets.sqs import SqsTarget
from tests.simulation.requests import QUEUE_ARN, REVOCABLE, TOPIC
from tests.simulation.revoking import Grants, without_some
from tests.support.examples import NOW, execution, occurrence, release

INVOCATION_MS, SKEW_MS = 60_000, 1_500
BARE = without_some(REVOCABLE, 0.0, lambda: 0.5)
TARGETS = HttpTarget("https://good.example.com/"), SqsTarget(QUEUE_ARN), KafkaTarget(TOPIC)


def to(target: Target) -> Delivery:
    due = release(occurrence=occurrence(client_id=REVOCABLE.client_id, target=target))
    return Delivery(due.execution_id, due.job_id, 1, due.occurrence, NOW + INVOCATION_MS)


def refused(at: int, state: State = State.DEAD, told: str = "permanent failure: ") -> Execution:
    error = "https://good.example.com/ leads to a host that the client's allowedTargetHosts do not list"
    attempt = Attempt(1, State.FAILED, at, at, error=error)
    record = execution(state, client_id=REVOCABLE.client_id, attempt=1, reason=f"{told}{error}" if told else "no more")
    return record.changed(attempts=(attempt,))


@pytest.fixture
def grants() -> Grants:
    judge = Grants(INVOCATION_MS, SKEW_MS)
    judge.changed(REVOCABLE, NOW - 10**6)
    return judge


@pytest.mark.parametrize("target", TARGETS)
def test_an_invocation_goes_by_the_client_as_it_was_and_the_next_one_must_not(grants: Grants, target: Target) -> None:
    grants.changed(BARE, NOW)
    assert grants.objection(to(target), NOW + INVOCATION_MS - 1) is None
    assert "was taken away" in str(grants.objection(to(target), NOW + INVOCATION_MS))
    grants.changed(REVOCABLE, NOW + INVOCATION_MS + 5)
    assert grants.objection(to(target), NOW + INVOCATION_MS + 5) is None


def test_callbacks_keep_their_host(grants: Grants) -> None:
    grants.changed(BARE, NOW)
    assert grants.objection(to(HttpTarget("https://callbacks.example.com/")), NOW + 10**6) is None


def test_a_refusal_ends_the_execution_with_its_reason_and_only_while_something_is_taken_away(grants: Grants) -> None:
    assert "nothing was taken away" in str(grants.refusal_objection(refused(NOW)))
    grants.changed(BARE, NOW)
    assert grants.refusal_objection(refused(NOW)) is None
    grants.changed(REVOCABLE, NOW + 5)
    over = NOW + 5 + INVOCATION_MS
    assert grants.refusal_objection(refused(over - 1)) is None
    assert "nothing was taken away" in str(grants.refusal_objection(refused(over)))
    assert "it was refused, and is FAILED" in str(grants.refusal_objection(refused(NOW, State.FAILED)))
    assert "no more" in str(grants.refusal_objection(refused(NOW, told="")))
    assert grants.refusal_objection(execution(State.DEAD, reason="spent")) is None


def test_what_is_taken_away_later_is_no_reason_of_a_refusal(grants: Grants) -> None:
    """A clock may be off by the skew, and no more."""
    grants.changed(BARE, NOW)
    assert grants.refusal_objection(refused(NOW - SKEW_MS)) is None
    assert "nothing was taken away" in str(grants.refusal_objection(refused(NOW - SKEW_MS - 1)))
