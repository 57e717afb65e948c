"""Parked work behind an open circuit: where a probe is due one of it goes, and the rest waits for what that finds."""

from __future__ import annotations

from clockwork.domain.circuits import Circuit, host_of
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.keys import row_key
from clockwork.domain.parking import parked_row
from clockwork.domain.releases import Release
from clockwork.domain.requests import occurrence_of
from clockwork.flows.let_go import let_go
from clockwork.memory.world import MemoryClockwork
from tests.examples import ACME, new_job

PARKED = 3


def _with_parked_work(probe_in_ms: int) -> MemoryClockwork:
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    now = clockwork.clock.at
    occurrence = occurrence_of(new_job(delay_ms=0), ACME, now)
    for number in range(PARKED):
        job_id = AnonymousJob("p000", row_key(now, str(number)), 0).job_id
        clockwork.timeline.put_new([parked_row(Release(job_id, occurrence, now))])
    clockwork.regulation.note_parked(ACME.client_id, now)
    host = host_of(occurrence.target)
    assert host is not None
    circuit = Circuit(ACME.client_id, host, now - 60_000, now + probe_in_ms, 60_000)
    assert clockwork.regulation.save_circuit(None, circuit)
    return clockwork


def test_one_of_what_is_parked_goes_where_a_probe_is_due() -> None:
    clockwork = _with_parked_work(probe_in_ms=0)
    assert let_go(clockwork.world, clockwork.clock.at + 60_000).released == 1


def test_nothing_that_is_parked_goes_before_a_probe_is_due() -> None:
    clockwork = _with_parked_work(probe_in_ms=1)
    assert let_go(clockwork.world, clockwork.clock.at + 60_000).released == 0


def test_all_that_is_parked_goes_where_no_circuit_is_open() -> None:
    clockwork = _with_parked_work(probe_in_ms=1)
    clockwork.regulation.close_circuit(ACME.client_id, next(iter(clockwork.regulation.circuits(ACME.client_id))))
    assert let_go(clockwork.world, clockwork.clock.at + 60_000).released == PARKED
