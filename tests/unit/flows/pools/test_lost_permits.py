"""No more is in progress than the limit, though a worker was silent beyond its permit, or the limit was lowered."""

from __future__ import annotations

import pytest

from clockwork.domain.lifecycle.tokens import decode_token
from clockwork.domain.limits.concurrency import OF_WORKERS
from clockwork.flows.pools.reports import Ended, report_all
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import ACME
from tests.unit.flows.pools.limited import (
    DONE,
    LIMIT,
    POOL,
    asked_of,
    beat,
    claim,
    in_progress,
    limit,
    limited,
    send,
    started,
    taken,
)


@pytest.fixture
def clockwork() -> MemoryClockwork:
    return limited()


def test_who_was_silent_beyond_its_permit_does_not_go_on_beside_another(clockwork: MemoryClockwork) -> None:
    limit(clockwork, 1)
    send(clockwork, 2)
    first = started(clockwork)
    clockwork.clock.advance(64_001)  # its watch is late
    second = started(clockwork)
    assert (len(first), len(second)) == (1, 1)
    clockwork.clock.advance(500)
    assert [one.is_stale for one in beat(clockwork, first + second)] == [True, False]
    assert in_progress(clockwork) == taken(clockwork) == 1
    clockwork.deliver_visible()
    assert in_progress(clockwork) == taken(clockwork) == 1


def test_a_beat_within_the_grace_holds_claim_and_permit(clockwork: MemoryClockwork) -> None:
    send(clockwork, LIMIT)
    tokens = started(clockwork)
    clockwork.clock.advance(63_999)
    assert [one.is_stale for one in beat(clockwork, tokens)] == [False] * LIMIT
    assert taken(clockwork) == LIMIT


def test_a_late_beat_without_a_permit_counts_until_somebody_has_acted_on_its_end(clockwork: MemoryClockwork) -> None:
    limit(clockwork, None)
    send(clockwork, 1)
    tokens = started(clockwork)
    clockwork.clock.advance(70_000)
    assert [one.is_stale for one in beat(clockwork, tokens)] == [False]


@pytest.mark.parametrize("is_taken", [True, False])
def test_who_asks_again_late_starts_if_nobody_has_its_permit(clockwork: MemoryClockwork, *, is_taken: bool) -> None:
    limit(clockwork, 1)
    send(clockwork, 1)
    asked = asked_of(clockwork)
    assert claim(clockwork, asked)[0].start is not None
    clockwork.clock.advance(64_001)
    if is_taken:
        send(clockwork, 1)
        now = clockwork.clock.at
        assert clockwork.regulation.lease(ACME.client_id, OF_WORKERS, "another", now, now + 60_000)
    (again,) = claim(clockwork, asked)
    assert (again.start is None, again.is_left) == (is_taken, is_taken)
    assert in_progress(clockwork) == (0 if is_taken else 1)


def test_a_limit_that_was_lowered_starts_nothing_before_so_many_have_ended(clockwork: MemoryClockwork) -> None:
    limit(clockwork, 6)
    send(clockwork, 30)
    tokens = sorted(started(clockwork))
    assert len(tokens) == 6
    limit(clockwork, 2)
    permits = {one.claimant: one.awaited.permit or 0 for one in clockwork.executions.all() if one.awaited is not None}
    tokens.sort(key=lambda token: permits[decode_token(token).claimant])
    for left in range(5, 0, -1):
        report_all(clockwork.world, POOL, [Ended(tokens.pop(0), DONE)])
        new = []
        for _ in range(40):
            clockwork.clock.advance(1_000)
            beat(clockwork, tokens)
            new += started(clockwork)
        assert len(new) == (1 if left < 2 else 0)
