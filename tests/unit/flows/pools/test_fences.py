"""A claim that stalls behind its watch: the watch finds nobody, and spoils it, so that no claim is ever unwatched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.executions import Execution, State
from clockwork.domain.lifecycle.tokens import decode_token
from clockwork.domain.pools.pool import Pool
from clockwork.domain.releases import Deliver, Watch
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.waits import Waiting
from clockwork.flows.deliver.items import Item, is_still_ours
from clockwork.flows.pools.claim import Asked, claim_for
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Refused, Saved
from clockwork.settings import Settings
from clockwork.targets.pool import PoolTarget
from tests.support.examples import ACME, claim_of, occurrence, release, watch_like

POOL = Pool(name="etl", revision=1, principals=("w",), handlers=("work",), lease_seconds=60)


class Stalling:
    """Executions before whose first save much else happens."""

    def __init__(self, inner: Any, meanwhile: Any) -> None:
        self._inner = inner
        self._meanwhile = [meanwhile]

    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        if self._meanwhile:
            self._meanwhile.pop()()
        saves: Sequence[Saved] = self._inner.save(changes)
        return saves

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.fixture
def clockwork() -> MemoryClockwork:
    made = MemoryClockwork(Settings.for_local().with_(pools=("etl=normal",)))
    made.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",)))
    made.ticket_keys.make("k" * 22)
    return made


def ticket(clockwork: MemoryClockwork) -> tuple[str, Deliver]:
    due_at = clockwork.clock.at
    whole = occurrence(target=PoolTarget("etl", "work", timeout_seconds=600), due_at=due_at, created_at=due_at)
    sent = msgspec.structs.replace(release(), occurrence=whole, run_at=due_at)
    refused: Sequence[Refused] = clockwork.world.releases.send([sent], due_at)
    assert not refused
    (message,) = clockwork.pool_queues.of("etl").receive()
    return message.body, sent


def watches(clockwork: MemoryClockwork) -> list[Watch]:
    found = [one for message in clockwork.queue.messages.values() for one in decode_message(message.body)]
    return [one for one in found if isinstance(one, Watch)]


def claimed(clockwork: MemoryClockwork, body: str, claim_id: str = "c" * 22) -> Any:
    deadline_at = clockwork.clock.at + 300_000
    (answer,) = claim_for(clockwork.world, POOL, "w", ["work"], [Asked(claim_id, body, "r")], deadline_at)
    return answer


@pytest.mark.parametrize("waits", [False, True])
def test_a_claim_that_its_watch_has_overtaken_is_made_anew_with_a_watch_of_its_own(
    clockwork: MemoryClockwork, waits: bool
) -> None:
    body, sent = ticket(clockwork)
    if waits:
        first = sent.first_record(State.PENDING, 10**15, waits=Waiting(sent.run_at))
        clockwork.executions.save([(None, first)])

    def the_watch_comes() -> None:
        assert len(watches(clockwork)) == 1
        clockwork.clock.advance(65_000)
        clockwork.deliver_visible()
        assert watches(clockwork) == []

    stalling = Stalling(clockwork.world.executions, the_watch_comes)
    msgspec.structs.force_setattr(clockwork.world, "executions", stalling)
    answer = claimed(clockwork, body)
    record = clockwork.executions.find(sent.job_id, sent.execution_id)
    assert record is not None
    assert (answer.start is not None, record.state, record.attempt) == (True, State.RUNNING, 1)
    (watch,) = watches(clockwork)
    assert (watch.attempt, watch.run_at) == (1, (claim_of(record).until or 0) + 4_000)


def test_a_watch_that_finds_nobody_starts_nothing_and_its_ticket_still_does(clockwork: MemoryClockwork) -> None:
    body, sent = ticket(clockwork)
    watch = watch_like(sent)
    clockwork.world.releases.send([watch], clockwork.clock.at)
    clockwork.deliver_visible()
    record = clockwork.executions.find(sent.job_id, sent.execution_id)
    assert record is not None
    assert (record.state, record.attempt, record.revision) == (State.PENDING, 0, 1)
    assert not clockwork.queue.messages
    answer = claimed(clockwork, body)
    assert answer.start is not None
    token = decode_token(answer.start.token)
    assert (token.execution_id, token.attempt, token.secret) == (sent.execution_id, 1, "c" * 22)


def test_a_watch_that_is_refused_leaves_its_attempt_unclaimed(clockwork: MemoryClockwork) -> None:
    body, sent = ticket(clockwork)

    class Refusing:
        def send(self, releases: Sequence[Deliver], _now: int) -> Sequence[Refused]:
            return [Refused(index, False, "no answer") for index, _ in enumerate(releases)]

    msgspec.structs.force_setattr(clockwork.world, "releases", Refusing())
    answer = claimed(clockwork, body)
    assert (answer.start, answer.is_left) == (None, True)
    assert clockwork.executions.find(sent.job_id, sent.execution_id) is None


def test_another_call_for_the_same_worker_keeps_a_stalled_one_from_ending_its_claim(clockwork: MemoryClockwork) -> None:
    body, _ = ticket(clockwork)
    first = claimed(clockwork, body)
    clockwork.clock.advance(20_000)
    again = claimed(clockwork, body)
    assert first.start is not None
    assert again.start is not None
    assert again.start.token == first.start.token
    assert again.start.claimed.revision == first.start.claimed.revision + 1
    assert claim_of(again.start.claimed).until == claim_of(first.start.claimed).until + 20_000
    other = claimed(clockwork, body, "d" * 22)
    assert (other.start, other.is_left) == (None, False)


def test_a_stalled_call_does_not_end_the_claim_that_another_call_goes_on_with(clockwork: MemoryClockwork) -> None:
    body, sent = ticket(clockwork)
    first = claimed(clockwork, body)
    assert first.start is not None
    clockwork.clock.advance(1)
    claimed(clockwork, body)
    record = clockwork.executions.find(sent.job_id, sent.execution_id)
    item = Item("1", sent, seen=first.start.claimed)
    assert record is not None
    assert record.claimant == first.start.claimed.claimant
    assert is_still_ours(item, first.start.claimed)
    assert not is_still_ours(item, record)
    assert not is_still_ours(item, None)
