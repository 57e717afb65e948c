"""The judge of receivers sees what it is for: reports under stale tokens, and claims that outlast their deadline."""

from __future__ import annotations

import random
from typing import Any

import pytest

from clockwork.domain.executions import Awaited, Execution, State
from clockwork.memory.clock import MemoryClock
from clockwork.settings import Settings
from tests.simulation.scheduler import Actor, Scheduler
from tests.simulation.watcher import REPORTING, Watcher
from tests.support.examples import NOW, changed, execution

AWAITED = Awaited(heartbeat_ms=60_000, deadline_at=NOW + 600_000, accepted_at=NOW)


def running(**fields: Any) -> Execution:
    given = {"claimant": "its own", "claim_until": NOW + 60_000, "attempt": 1, "awaited": AWAITED, **fields}
    return execution(State.RUNNING, **given)


def objections(before: Execution, after: Execution, *tokens: str, name: str = REPORTING) -> set[str]:
    scheduler = Scheduler(MemoryClock(NOW), random.Random(0))
    watcher = Watcher(scheduler, Settings.for_account())
    watcher.named.skip_objection = lambda *_: None  # type: ignore[method-assign]  # none was created here
    actor = Actor(scheduler, name, lambda _: None)
    actor.tokens.update(tokens)
    watcher.execution_changed(before, after, actor)
    return {violation.invariant for violation in watcher.violations}


def test_a_report_under_the_token_of_the_claim_may_change_its_record() -> None:
    before = running()
    assert objections(before, changed(before, claim_until=NOW + 90_000), "its own") == set()


@pytest.mark.parametrize("tokens", [(), ("an earlier one",)])
def test_a_report_under_another_token_may_not(tokens: tuple[str, ...]) -> None:
    before = running()
    assert "P2" in objections(before, changed(before, claim_until=NOW + 90_000), *tokens)


def test_a_report_may_not_change_what_does_not_run() -> None:
    waiting = execution(State.FAILED, next_attempt_at=NOW, attempt=1)
    assert "P2" in objections(waiting, waiting.changed(expires_at=NOW * 2), "its own")


def test_no_heartbeat_moves_the_deadline() -> None:
    before = running()
    late = changed(before, claim_until=AWAITED.deadline_at + 1)
    assert "P4" in objections(before, late, "its own")


def test_nobody_replaces_the_claim_of_a_receiver_before_its_end() -> None:
    before = running(claim_until=NOW + 60_000)
    lost = changed(before, state=State.WORKER_LOST, next_attempt_at=NOW, claimant=None)
    assert "I4" in objections(before, lost, name="deliverer")
    over = running(claim_until=NOW - 10_000)
    assert objections(over, lost, name="deliverer") == set()
