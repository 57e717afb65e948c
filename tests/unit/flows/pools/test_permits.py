"""A client's concurrency limit holds for what workers have in hand: each attempt keeps a permit until it ends."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.jobs import PoolTarget
from clockwork.domain.lifecycle.reports import Heartbeat
from clockwork.domain.lifecycle.tokens import decode_token
from clockwork.domain.limits.concurrency import OF_WORKERS, free_permits
from clockwork.domain.pools.pool import Pool
from clockwork.domain.releases import Release
from clockwork.flows.pools.claim import Asked, Claimed, claim_for
from clockwork.flows.pools.reports import Beat, Ended, Taken, beat_all, report_all
from clockwork.flows.requests.reporting import Reported, note_beat, note_report
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.support.examples import ACME, occurrence, release

POOL = Pool(name="etl", revision=1, principals=("w",), handlers=("work",), lease_seconds=60)
LIMIT = 2
DONE = Reported(State.SUCCEEDED)


@pytest.fixture
def clockwork() -> MemoryClockwork:
    made = MemoryClockwork(Settings.for_local().with_(pools=("etl=normal",)))
    made.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",), max_concurrency=LIMIT))
    made.ticket_keys.make("k" * 22)
    return made


def send(clockwork: MemoryClockwork, count: int) -> list[Release]:
    now = clockwork.clock.at
    target = PoolTarget("etl", "work", timeout_seconds=600)
    made = [occurrence(target=target, due_at=now + number, created_at=now) for number in range(count)]
    sent = [msgspec.structs.replace(release(), occurrence=one, run_at=now) for one in made]
    assert not clockwork.world.releases.send(sent, now)
    return sent


def asked_of(clockwork: MemoryClockwork) -> list[Asked]:
    """The tickets that a worker receives now, each under a claimId of its own."""
    queue = clockwork.pool_queues.of("etl")
    received = queue.receive(10)
    return [Asked(f"{one.message_id:c>22}"[:22], one.body, one.message_id) for one in received]


def claim(clockwork: MemoryClockwork, asked: Sequence[Asked]) -> list[Claimed]:
    return claim_for(clockwork.world, POOL, "w", ["work"], asked, clockwork.clock.at + 29_000)


def started(clockwork: MemoryClockwork) -> list[str]:
    """The tokens of what a worker may start now."""
    return [one.start.token for one in claim(clockwork, asked_of(clockwork)) if one.start is not None]


def taken(clockwork: MemoryClockwork) -> int:
    return len(clockwork.world.regulation.taken(ACME.client_id, clockwork.clock.at))


def beat(clockwork: MemoryClockwork, tokens: Sequence[str]) -> list[Taken]:
    return beat_all(clockwork.world, POOL, [Beat(token) for token in tokens])


def test_no_more_are_in_hand_than_the_limit_for_as_long_as_they_last(clockwork: MemoryClockwork) -> None:
    send(clockwork, 5)
    tokens = started(clockwork)
    assert len(tokens) == taken(clockwork) == LIMIT
    for _ in range(10):
        clockwork.clock.advance(30_000)
        assert all(not one.is_stale for one in beat(clockwork, tokens))
        assert started(clockwork) == []
        assert taken(clockwork) == LIMIT


@pytest.mark.parametrize("said", [DONE, Reported(State.FAILED, error="no"), Reported(State.HANDED_BACK)])
def test_an_attempt_that_ends_gives_its_permit_back(clockwork: MemoryClockwork, said: Reported) -> None:
    send(clockwork, 3)
    tokens = started(clockwork)
    (ended,) = report_all(clockwork.world, POOL, [Ended(tokens[0], said)])
    assert not ended.is_stale
    assert taken(clockwork) == LIMIT - 1
    clockwork.clock.advance(5_000)
    beat(clockwork, tokens[1:])
    assert len(started(clockwork)) == 1
    assert taken(clockwork) == LIMIT


def test_the_single_reports_hold_permits_and_give_them_back_too(clockwork: MemoryClockwork) -> None:
    (sent,) = send(clockwork, 1)
    (text,) = started(clockwork)
    token = decode_token(text)
    record = clockwork.executions.find(sent.job_id, sent.execution_id)
    assert record is not None
    for _ in range(5):
        clockwork.clock.advance(30_000)
        record = note_beat(clockwork.world, token, record, Heartbeat(clockwork.clock.at))
        assert taken(clockwork) == 1
    note_report(clockwork.world, token, record, DONE)
    assert taken(clockwork) == 0


def test_a_repeat_of_a_claim_keeps_its_permit_though_none_is_free(clockwork: MemoryClockwork) -> None:
    send(clockwork, LIMIT)
    asked = asked_of(clockwork)
    first = claim(clockwork, asked)
    clockwork.clock.advance(10_000)
    again = claim(clockwork, asked)
    assert [one.start and one.start.token for one in again] == [one.start and one.start.token for one in first]
    assert all(one.start is not None for one in again)
    assert taken(clockwork) == LIMIT


def test_a_dead_worker_keeps_its_permit_until_its_claim_has_ended_and_no_longer(clockwork: MemoryClockwork) -> None:
    send(clockwork, LIMIT)
    assert len(started(clockwork)) == LIMIT
    clockwork.clock.advance(60_000)
    assert taken(clockwork) == LIMIT
    clockwork.clock.advance(5_000)
    assert taken(clockwork) == 0
    report = clockwork.deliver_visible()
    assert (report.workers_lost, report.forced_cancels) == (LIMIT, 0)
    assert len(started(clockwork)) == LIMIT


def test_an_attempt_that_goes_on_though_a_cancel_was_noted_is_counted(clockwork: MemoryClockwork) -> None:
    (sent,) = send(clockwork, 1)
    assert len(started(clockwork)) == 1
    running = clockwork.executions.find(sent.job_id, sent.execution_id)
    assert running is not None
    noted = running.changed(cancel_noted_at=clockwork.clock.at)
    assert clockwork.world.executions.save([(running, noted)])[0].ok
    clockwork.clock.advance(65_000)
    report = clockwork.deliver_visible()
    assert (report.workers_lost, report.forced_cancels) == (0, 1)


def test_what_no_worker_starts_takes_no_permit(clockwork: MemoryClockwork) -> None:
    (sent,) = send(clockwork, 1)
    asked = asked_of(clockwork)
    ended = sent.first_record(State.CANCELLED, clockwork.clock.at + 10**10)
    clockwork.world.executions.save([(None, ended)])
    assert [one.start for one in claim(clockwork, asked)] == [None]
    assert taken(clockwork) == 0


def test_another_worker_that_shows_a_claimed_ticket_takes_no_permit(clockwork: MemoryClockwork) -> None:
    send(clockwork, 1)
    (asked,) = asked_of(clockwork)
    assert claim(clockwork, [asked])[0].start is not None
    assert claim(clockwork, [msgspec.structs.replace(asked, claim_id="d" * 22)])[0].start is None
    assert taken(clockwork) == 1


def test_a_limit_that_gives_no_answer_leaves_the_tickets(clockwork: MemoryClockwork) -> None:
    send(clockwork, 1)
    inner = clockwork.world.regulation

    class Out:
        def taken(self, client_id: str, now: int) -> frozenset[int]:
            raise Unavailable(f"{client_id} {now}")

        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

    object.__setattr__(clockwork.world, "regulation", Out())
    (answer,) = claim(clockwork, asked_of(clockwork))
    assert (answer.start, answer.is_left) == (None, True)


def test_a_permit_that_is_not_renewed_ends_no_heartbeat(clockwork: MemoryClockwork) -> None:
    send(clockwork, 1)
    tokens = started(clockwork)
    inner = clockwork.world.regulation

    class Out:
        def lease(self, *_: object) -> bool:
            raise Unavailable("no answer")

        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

    object.__setattr__(clockwork.world, "regulation", Out())
    clockwork.clock.advance(30_000)
    (answer,) = beat(clockwork, tokens)
    assert (answer.is_stale, answer.is_unavailable) == (False, False)


def slow(clockwork: MemoryClockwork, name: str, cost_ms: int, *, answers: bool) -> list[int]:
    """Let a call of the permits cost so long; the instants at which it was called."""
    call, called = getattr(clockwork.regulation, name), list[int]()

    def slowly(*given: Any) -> Any:
        called.append(clockwork.clock.at)
        clockwork.clock.advance(cost_ms)
        if not answers:
            raise Unavailable("throttled")
        return call(*given)

    setattr(clockwork.regulation, name, slowly)
    return called


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("cost_ms", [300, 1_500, 12_000])
def test_slow_permits_keep_no_heartbeat_from_being_recorded(
    clockwork: MemoryClockwork, cost_ms: int, *, answers: bool
) -> None:
    clockwork.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",), max_concurrency=200))
    send(clockwork, 30)
    tokens = [token for _ in range(3) for token in started(clockwork)]
    assert len(tokens) == 30
    clockwork.clock.advance(31_000)
    began_at, called = clockwork.clock.at, slow(clockwork, "lease", cost_ms, answers=answers)
    taken = beat(clockwork, tokens)
    assert all(not one.is_stale and not one.is_unavailable for one in taken)
    assert {one.claim_until for one in clockwork.executions.all()} == {began_at + 60_000}
    assert clockwork.clock.at - began_at <= 3_000 + cost_ms
    assert called[0] == began_at
    assert len(called) == 1 or answers


def test_slow_permits_keep_no_next_attempt_from_being_sent(clockwork: MemoryClockwork) -> None:
    send(clockwork, 2)
    tokens = started(clockwork)
    began_at, called = clockwork.clock.at, slow(clockwork, "give_back", 12_000, answers=False)
    taken = report_all(clockwork.world, POOL, [Ended(token, Reported(State.HANDED_BACK)) for token in tokens])
    assert all(not one.is_stale and not one.is_unavailable for one in taken)
    sent_at = [json.loads(one.body)["sentAt"] for one in clockwork.pool_queues.of("etl").messages.values()]
    assert (sent_at, called) == ([began_at] * 2, [began_at])


def test_the_permits_that_were_not_asked_for_are_others_each_time(clockwork: MemoryClockwork) -> None:
    clockwork.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",), max_concurrency=8))
    send(clockwork, 8)
    tokens = started(clockwork)
    slow(clockwork, "lease", 2_000, answers=True)
    for _ in range(12):
        clockwork.clock.advance(15_000)
        beat(clockwork, tokens)
    assert taken(clockwork) > 2


def test_the_permits_of_workers_are_none_of_the_blocks_of_deliverers() -> None:
    assert free_permits(3, frozenset({0, 1, OF_WORKERS + 1})) == [OF_WORKERS, OF_WORKERS + 2]
