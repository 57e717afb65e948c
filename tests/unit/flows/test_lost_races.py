"""Lost races: a caller whose compare-and-set on a record keeps failing gives up soon, and only its own item fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import ExecutionNotFound, Unavailable
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import NamedJobId
from clockwork.domain.storage.codec import encode_release
from clockwork.flows.access import Caller
from clockwork.flows.records import MOST_REPLANS
from clockwork.flows.requests.cancel import cancel_execution
from clockwork.flows.requests.redrive import redrive
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Saved
from tests.support.examples import ACME, ALICE, NOW, execution, occurrence, release

Changed = Callable[[Execution | None], Execution]
#: The record of a deliverer that died before it could record the outcome of its attempt.
LOST = execution(State.RUNNING, attempt=1, claimant="lost", claim_until=NOW - 60_000, started_at=NOW - 90_000)
DEAD = execution(State.DEAD, occurrence=occurrence())


class Restless:
    """A Clockwork with two messages that are due, where compare-and-sets on the first one's record fail.

    Just before each of them the record is replaced by `changed(record)`, unless `spares(after)` is true.
    """

    def __init__(self, changed: Changed, spares: Callable[[Execution], bool] = lambda _: False, **first: Any) -> None:
        self.clockwork = MemoryClockwork()
        self.clockwork.clients.put(ACME)
        self.changed, self.spares = changed, spares
        self.first, self.other = release(**first), release(occurrence=occurrence(due_at=NOW + 1))
        self.tries = 0
        self.executions = self.clockwork.executions
        self._save = self.executions._save_one
        self.executions._save_one = self._save_one  # type: ignore[method-assign]

    def _save_one(self, before: Execution | None, after: Execution) -> Saved:
        if after.execution_id != self.first.execution_id or self.spares(after):
            return self._save(before, after)
        self.tries += 1
        changed = msgspec.structs.replace(self.changed(before), revision=self.tries + 10)
        self.executions._records[after.job_id, after.execution_id] = changed
        return Saved(ok=False, actual=changed)


def is_claim(after: Execution) -> bool:
    return after.state is State.RUNNING


def noted(before: Execution | None) -> Execution:
    """The claim as it was, with a cancel noted on it."""
    assert before is not None
    return msgspec.structs.replace(before, cancel_noted_at=NOW)


@pytest.mark.parametrize(
    ("restless", "paused", "other_ends"),
    [
        (Restless(lambda _: execution(State.PENDING)), False, State.SUCCEEDED),
        (Restless(lambda _: LOST), False, State.SUCCEEDED),
        (Restless(noted, is_claim), False, State.SUCCEEDED),
        (Restless(noted, is_claim, job_id=NamedJobId("acme", "gone", 1).job_id), False, State.SUCCEEDED),
        (Restless(lambda _: execution(State.PENDING)), True, State.PARKED),
        (Restless(lambda _: LOST), True, State.PARKED),
    ],
    ids=[
        "claim",
        "claim after a lost worker",
        "outcome",
        "end of the unwanted",
        "parking",
        "parking of a lost worker's",
    ],
)
def test_one_whose_record_keeps_changing_fails_alone_and_the_others_go_on(
    restless: Restless, paused: bool, other_ends: State
) -> None:
    clockwork = restless.clockwork
    clockwork.clients.put(msgspec.structs.replace(ACME, paused=paused))
    clockwork.clock.at = NOW + 1
    clockwork.queue.send([restless.first, restless.other], clockwork.clock.at)
    report = clockwork.deliver_visible()
    assert restless.tries == MOST_REPLANS + 1
    assert len(report.failed_messages) == 1
    assert [message.body for message in clockwork.queue.messages.values()] == [encode_release(restless.first)]
    other = clockwork.executions.find(restless.other.job_id, restless.other.execution_id)
    assert other is not None
    assert other.state is other_ends


@pytest.mark.parametrize("races", [1, MOST_REPLANS])
def test_one_that_loses_some_races_is_delivered_all_the_same(races: int) -> None:
    restless = Restless(lambda _: execution(State.PENDING))
    restless.spares = lambda _: restless.tries == races
    clockwork = restless.clockwork
    clockwork.clock.at = NOW + 1
    clockwork.queue.send([restless.first, restless.other], clockwork.clock.at)
    assert clockwork.deliver_visible().succeeded == 2
    assert restless.tries == races
    assert not clockwork.queue.messages


def test_a_cancel_and_a_redrive_ask_to_be_repeated() -> None:
    restless = Restless(lambda before: before or DEAD)
    restless.executions._records[DEAD.job_id, DEAD.execution_id] = DEAD
    with pytest.raises(Unavailable, match="keeps changing"):
        redrive(restless.clockwork.world, DEAD)
    waiting = execution(State.FAILED)
    restless.executions._records[DEAD.job_id, DEAD.execution_id] = waiting
    caller = Caller(ALICE, client_ids=frozenset({"acme"}))
    with pytest.raises(Unavailable, match="keeps changing"):
        cancel_execution(restless.clockwork.world, caller, waiting.execution_id)
    assert restless.tries == 2 * (MOST_REPLANS + 1)


def test_a_cancel_of_what_expires_meanwhile_leaves_a_record_that_tells_when_its_job_was_created() -> None:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    waiting = release().first_record(State.FAILED, NOW + 1)
    clockwork.executions.save([(None, waiting)])
    _, cancelled = cancel_execution(
        clockwork.world,
        Caller(ALICE, client_ids=frozenset({"acme"})),
        waiting.execution_id,
        lambda *_: clockwork.executions.expire(NOW + 1),
    )
    assert clockwork.executions.all() == [cancelled]
    assert (cancelled.state, cancelled.revision) == (State.CANCELLED, 1)
    assert cancelled.created_at == waiting.created_at is not None


def test_a_redrive_of_what_is_gone_by_now_says_so() -> None:
    with pytest.raises(ExecutionNotFound):
        redrive(MemoryClockwork().world, DEAD)
