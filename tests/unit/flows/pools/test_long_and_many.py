"""Work that takes half a day, and very many attempts at work at once: both in virtual time."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.executions import State
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.keys import row_key
from clockwork.domain.pools.pool import Pool
from clockwork.flows.pools.claim import Asked, Start, claim_for
from clockwork.flows.pools.reports import Beat, Ended, beat_all, report_all
from clockwork.flows.requests.reporting import Reported
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.pool import PoolTarget
from tests.support.examples import ACME, occurrence, release

POOL = Pool(name="etl", revision=1, principals=("w",), handlers=("work",), lease_seconds=60)
HOUR_MS = 3_600_000
#: As many as a claim takes.
AT_ONCE = 10


def made() -> MemoryClockwork:
    clockwork = MemoryClockwork(Settings.for_local().with_(pools=("etl=normal",)))
    clockwork.clients.put(msgspec.structs.replace(ACME, allowed_pools=("etl",)))
    clockwork.ticket_keys.make("k" * 22)
    return clockwork


def send(clockwork: MemoryClockwork, first: int, count: int) -> None:
    now = clockwork.clock.at
    target = PoolTarget("etl", "work", timeout_seconds=14 * 3_600)
    one = occurrence(target=target, due_at=now, created_at=now)
    jobs = [AnonymousJob("p000", row_key(now, f"{first + number:022d}"), 0).job_id for number in range(count)]
    sent = [release(job_id=job, occurrence=one, run_at=now) for job in jobs]
    assert not clockwork.world.releases.send(sent, now)


def started(clockwork: MemoryClockwork) -> list[Start]:
    received = clockwork.pool_queues.of("etl").receive(AT_ONCE)
    asked = [Asked(f"{one.message_id:c>22}"[-22:], one.body, one.message_id) for one in received]
    answers = claim_for(clockwork.world, POOL, "w", ["work"], asked, clockwork.clock.at + 29_000)
    return [one.start for one in answers if one.start is not None]


@pytest.mark.long
def test_work_of_thirteen_hours_succeeds_once() -> None:
    clockwork = made()
    send(clockwork, 0, 1)
    (start,) = started(clockwork)
    end = clockwork.clock.at + 13 * HOUR_MS
    while clockwork.clock.at < end:
        clockwork.run_until(clockwork.clock.at + 20_000)  # its watches come meanwhile
        (beaten,) = beat_all(clockwork.world, POOL, [Beat(start.token, progress=0.5)])
        assert not beaten.is_stale
        assert started(clockwork) == []
    (ended,) = report_all(clockwork.world, POOL, [Ended(start.token, Reported(State.SUCCEEDED))])
    assert not ended.is_stale
    clockwork.run_until(end + 2 * HOUR_MS)
    assert started(clockwork) == []
    stored = clockwork.executions.find(start.release.job_id, start.release.execution_id)
    assert stored is not None
    assert (stored.state, stored.attempt, len(stored.attempts)) == (State.SUCCEEDED, 1, 1)


@pytest.mark.parametrize("many", [3_000, pytest.param(150_000, marks=pytest.mark.nightly)])
def test_nothing_about_one_hangs_on_how_many_are_at_work_at_once(many: int) -> None:
    clockwork, tokens = made(), list[str]()
    for first in range(0, many, 500):
        send(clockwork, first, 500)
        for _ in range(500 // AT_ONCE):
            tokens += [start.token for start in started(clockwork)]
    assert len(set(tokens)) == many
    running = sum(one.state is State.RUNNING for one in clockwork.executions._records.values())
    assert running == many
    (beaten,) = beat_all(clockwork.world, POOL, [Beat(tokens[many // 2])])
    (ended,) = report_all(clockwork.world, POOL, [Ended(tokens[-1], Reported(State.SUCCEEDED))])
    assert (beaten.is_stale, ended.is_stale) == (False, False)
