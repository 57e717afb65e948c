"""A client's concurrency limit holds for what workers have in progress: each attempt keeps a permit until it ends."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.lifecycle.reports import Heartbeat
from clockwork.domain.lifecycle.tokens import decode_token
from clockwork.domain.limits.concurrency import OF_WORKERS, free_permits
from clockwork.flows.pools.reports import Ended, report_all
from clockwork.flows.requests.reporting import Reported, note_beat, note_report
from clockwork.memory.world import MemoryClockwork
from tests.unit.flows.pools.limited import DONE, LIMIT, POOL, asked_of, beat, claim, limited, send, started, taken


@pytest.fixture
def clockwork() -> MemoryClockwork:
    return limited()


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


def test_a_repeat_of_a_claim_is_written_so_that_a_stalled_call_cannot_end_it_unseen(clockwork: MemoryClockwork) -> None:
    (sent,) = send(clockwork, 1)
    asked = asked_of(clockwork)
    claim(clockwork, asked)
    as_the_stalled_call_knows_it = clockwork.executions.find(sent.job_id, sent.execution_id)
    assert as_the_stalled_call_knows_it is not None
    clockwork.clock.advance(10_000)
    (again,) = claim(clockwork, asked)
    assert again.start is not None
    ended = as_the_stalled_call_knows_it.changed(cancel_noted_at=clockwork.clock.at)
    (saved,) = clockwork.executions.save([(as_the_stalled_call_knows_it, ended)])
    assert not saved.ok


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
    assert clockwork.executions.save([(running, noted)])[0].ok
    clockwork.clock.advance(65_000)
    report = clockwork.deliver_visible()
    assert (report.workers_lost, report.forced_cancels) == (0, 1)


def test_what_no_worker_starts_takes_no_permit(clockwork: MemoryClockwork) -> None:
    (sent,) = send(clockwork, 1)
    asked = asked_of(clockwork)
    ended = sent.first_record(State.CANCELLED, clockwork.clock.at + 10**10)
    clockwork.executions.save([(None, ended)])
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

    msgspec.structs.force_setattr(clockwork.world, "regulation", Out())
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

    msgspec.structs.force_setattr(clockwork.world, "regulation", Out())
    clockwork.clock.advance(30_000)
    (answer,) = beat(clockwork, tokens)
    assert (answer.is_stale, answer.is_unavailable) == (False, False)


def test_the_permits_of_workers_are_none_of_the_blocks_of_deliverers() -> None:
    assert free_permits(3, frozenset({0, 1, OF_WORKERS + 1})) == [OF_WORKERS, OF_WORKERS + 2]


def test_who_holds_a_number_beyond_the_limit_counts() -> None:
    assert free_permits(2, frozenset({0, OF_WORKERS + 5})) == [OF_WORKERS]
    assert free_permits(2, frozenset({OF_WORKERS + 5, OF_WORKERS + 6})) == []
    assert free_permits(2, frozenset(range(OF_WORKERS + 2, OF_WORKERS + 9))) == []
