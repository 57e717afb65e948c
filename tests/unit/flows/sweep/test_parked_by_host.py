"""Rows that are parked behind a circuit lie host by host: those of a host that is still shut are not read."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.lifecycle.parking import Parked, parked_row, parking_of
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.releases import Deliver, Of
from clockwork.domain.requests.create import occurrence_of
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.timeline import Page
from clockwork.flows.sweep.unpark import MOST_TRIES, unpark
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.http import HttpTarget
from tests.support.examples import ACME, NOW, new_job
from tests.support.regulated import Regulated

SHUT, OPEN = "shut.example.com", "open.example.com"
MANY = 5_000


def release_to(host: str, number: int) -> Deliver:
    due = occurrence_of(new_job(delay_ms=0, target=HttpTarget(f"https://{host}/")), ACME, NOW)
    job_id = AnonymousJob("p000", keys.row_key(NOW, f"{host.partition('.')[0]}-{number:06d}"), 0).job_id
    return Deliver(Of(job_id), msgspec.structs.replace(due, due_at=NOW + number, record="none"), NOW)


class Parking:
    """A client with 5,000 rows of a host that is shut, and behind them 50 of another. Counts the rows that are read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, probe_in_ms: int = 60_000, old: bool = False) -> None:
        self.clockwork = MemoryClockwork()
        self.clockwork.clients.put(ACME)
        self.clockwork.clock.at = NOW + MANY
        rows = [parked_row(release_to(SHUT, n), None if old else SHUT) for n in range(MANY)]
        rows += [parked_row(release_to(OPEN, MANY + n), OPEN) for n in range(50)]
        self.clockwork.timeline.put_new(rows)
        self.clockwork.regulation.note_parked("acme", self.clockwork.clock.at)
        circuit = Circuit("acme", SHUT, NOW, self.clockwork.clock.at + probe_in_ms, 60_000)
        assert self.clockwork.regulation.save_circuit(None, circuit)
        self.reads: list[int] = []
        self._read = self.clockwork.timeline.read
        monkeypatch.setattr(self.clockwork.timeline, "read", self.read)

    def read(self, partition_id: str, after: str, until: str, limit: int) -> Page:
        page = self._read(partition_id, after, until, limit)
        self.reads.append(len(page.rows))
        return page

    def sweep(self) -> list[str]:
        """The hosts of the releases of one sweep."""
        self.reads.clear()
        unpark(self.clockwork.world, self.clockwork.clock.at + 60_000)
        messages = list(self.clockwork.queue.messages.values())
        self.clockwork.queue.messages.clear()
        return [_host(one.occurrence.target) for message in messages for one in decode_message(message.body)]


def _host(target: object) -> str:
    assert isinstance(target, HttpTarget)
    return target.url.split("/")[2]


def test_the_rows_of_a_host_that_is_shut_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    parking = Parking(monkeypatch)
    assert parking.sweep() == [OPEN] * 50
    assert (len(parking.reads), sum(parking.reads)) == (2, 50)
    assert parking.sweep() == []
    assert (len(parking.reads), sum(parking.reads)) == (2, 0)
    assert [one.client_id for one in parking.clockwork.regulation.parked()] == ["acme"]


def test_of_a_host_that_is_probed_one_page_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    parking = Parking(monkeypatch, probe_in_ms=0)
    assert sorted(parking.sweep()) == [OPEN] * 50 + [SHUT] * MOST_TRIES
    assert (len(parking.reads), sum(parking.reads)) == (3, 150)


def test_the_note_stays_as_long_as_a_host_is_shut_however_old_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    parking = Parking(monkeypatch, probe_in_ms=10**9)
    for _ in range(3):
        parking.sweep()
        parking.clockwork.clock.advance(3_600_000)
    assert [one.client_id for one in parking.clockwork.regulation.parked()] == ["acme"]
    parking.clockwork.regulation.close_circuit("acme", SHUT)
    released = 0
    for _ in range(12):
        released += len(parking.sweep())
        parking.clockwork.clock.advance(3_600_000)
    assert released == MANY
    assert not parking.clockwork.regulation.parked()


def test_rows_of_an_older_version_are_found_and_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    parking = Parking(monkeypatch, old=True)
    assert parking.sweep() == [OPEN] * 50
    parking.clockwork.regulation.close_circuit("acme", SHUT)
    assert set(parking.sweep()) == {SHUT}


def test_what_is_discarded_is_found_host_by_host_and_what_is_due_later_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    parking = Parking(monkeypatch)
    parking.clockwork.regulation.direct_parked(Parked("acme", discard_until=NOW + 999))
    report = unpark(parking.clockwork.world, parking.clockwork.clock.at + 60_000)
    assert report.discarded == 3_000  # and a hold of 2 s
    left = parking.clockwork.timeline._rows[parking_of("acme")].values()
    assert len(left) == MANY + 50 - 3_000


def test_a_deliverer_parks_behind_a_circuit_under_its_host_and_for_a_pause_by_due_instant() -> None:
    regulated = Regulated()
    circuit = Circuit("acme", SHUT, NOW - 1, NOW + 10**9, 60_000)
    assert regulated.clockwork.regulation.save_circuit(None, circuit)
    regulated.clockwork.clock.at = NOW
    regulated.clockwork.queue.send([release_to(SHUT, 0), release_to(OPEN, 0)], NOW)
    regulated.clockwork.deliver_visible()
    assert _parked_keys(regulated.clockwork) == [parked_row(release_to(SHUT, 0), SHUT).key]
    regulated.clockwork.clients.put(msgspec.structs.replace(ACME, paused=True))
    regulated.clockwork.queue.send([release_to(OPEN, 1)], NOW)
    regulated.clockwork.deliver_visible()
    assert parked_row(release_to(OPEN, 1)).key in _parked_keys(regulated.clockwork)


def _parked_keys(clockwork: MemoryClockwork) -> Sequence[str]:
    return sorted(clockwork.timeline._rows.get(parking_of("acme"), {}))
