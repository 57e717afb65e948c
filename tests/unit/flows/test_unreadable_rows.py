"""Unreadable rows, damaged or of a newer version: an unreadable row stays, and others do not wait for it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import NewerFormat, Undecodable, Unreadable
from clockwork.domain.executions import State
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.keys import row_key
from clockwork.domain.lifecycle.parking import Parked, parked_row, parking_of
from clockwork.domain.releases import Deliver, Of, Refused
from clockwork.domain.requests.create import occurrence_of
from clockwork.domain.storage.codec import FORMAT
from clockwork.domain.storage.rows import row_of
from clockwork.domain.timeline import Row
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.sweep.audit import AuditReport, audit_chains
from clockwork.flows.sweep.unpark import unpark
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import ACME, NOW, new_job, occurrence
from tests.support.named import Named
from tests.support.regulated import Regulated, put_parked

GLOBEX = msgspec.structs.replace(ACME, client_id="globex")
FAULTS = [NewerFormat("format 9"), Undecodable("damaged")]


def _release(client_id: str, number: int) -> Deliver:
    job_id = AnonymousJob("p000", row_key(NOW, f"{client_id}{number}"), 0).job_id
    client = msgspec.structs.replace(ACME, client_id=client_id)
    return Deliver(Of(job_id), occurrence_of(new_job(delay_ms=number), client, NOW), NOW)


def _parked(*blobs: bytes) -> MemoryClockwork:
    """A Clockwork with a parked row for each of acme and globex, and one of acme's for each of `blobs`, unreadable."""
    clockwork = MemoryClockwork()
    for client in (ACME, GLOBEX):
        clockwork.clients.put(client)
        clockwork.regulation.note_parked(client.client_id, clockwork.clock.at)
        put_parked(clockwork, _release(client.client_id, len(blobs)))
    for number, blob in enumerate(blobs):
        clockwork.timeline.put_new([msgspec.structs.replace(parked_row(_release("acme", number)), blob=blob)])
    return clockwork


def _rows(clockwork: MemoryClockwork, client_id: str) -> list[Row]:
    return list(clockwork.timeline._rows.get(parking_of(client_id), {}).values())


def _sweep(clockwork: MemoryClockwork) -> tuple[int, int, int]:
    report = unpark(clockwork.world, clockwork.clock.at + 60_000)
    return report.released, report.discarded, report.left


def _two_in_one() -> bytes:
    return row_of("parked/acme", row_key(NOW, "x"), [_release("acme", 1), _release("acme", 2)], 0).blob


@pytest.mark.parametrize("blob", [bytes([FORMAT + 1]), b"\x01garbage", b"", _two_in_one()])
def test_a_parked_row_that_cannot_be_read_stays_and_all_others_are_unparked(
    blob: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork = _parked(*[blob] * 3)
    with caplog.at_level(logging.ERROR):
        assert _sweep(clockwork) == (2, 0, 1)
    assert [record.action for record in caplog.records] == ["unreadable_parked_row"]  # type: ignore[attr-defined]
    assert [row.blob for row in _rows(clockwork, "acme")] == [blob] * 3
    assert not _rows(clockwork, "globex")
    clockwork.clock.advance(3_600_000)
    _sweep(clockwork)
    assert [parked.client_id for parked in clockwork.regulation.parked()] == ["acme"]


@pytest.mark.parametrize("permanent", [True, False])
def test_a_parked_release_that_is_refused_stays_and_those_that_were_taken_are_not_sent_again(
    permanent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork = _parked()
    released = [_release("acme", number) for number in (7, 8, 9)]
    put_parked(clockwork, *released)
    odd = released[1].job_id
    sent: list[str] = []

    def send(releases: Sequence[Deliver], _now: int) -> list[Refused]:
        job_ids = [release.job_id for release in releases]
        sent.extend(job_id for job_id in job_ids if job_id != odd)
        return [Refused(index, permanent, "no") for index, job_id in enumerate(job_ids) if job_id == odd]

    monkeypatch.setattr(clockwork.queue, "send", send)
    for _ in range(3):
        _sweep(clockwork)
    assert len(sent) == len(set(sent)) == 4
    assert [row.key for row in _rows(clockwork, "acme")] == [parked_row(released[1]).key]


def test_a_parked_row_that_cannot_be_read_is_not_discarded() -> None:
    clockwork = _parked(b"\x01garbage")
    clockwork.regulation.direct_parked(Parked("acme", discard_until=NOW + 60_000))
    assert _sweep(clockwork) == (1, 1, 1)
    assert [row.blob for row in _rows(clockwork, "acme")] == [b"\x01garbage"]


def test_a_parked_row_whose_record_cannot_be_read_is_not_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = _parked()
    put_parked(clockwork, _release("acme", 7))
    clockwork.regulation.direct_parked(Parked("acme", discard_until=NOW + 60_000))
    find, damaged = clockwork.executions.find, _release("acme", 7)

    def find_some(job_id: str, execution_id: str) -> Any:
        if job_id == damaged.job_id:
            raise Undecodable("damaged")
        return find(job_id, execution_id)

    monkeypatch.setattr(clockwork.executions, "find", find_some)
    assert _sweep(clockwork) == (1, 1, 1)
    assert [row.key for row in _rows(clockwork, "acme")] == [parked_row(damaged).key]


@pytest.mark.parametrize("fault", FAULTS)
def test_a_client_that_cannot_be_read_keeps_no_others_parked_work(
    fault: Unreadable, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork = _parked()
    _damage_client(clockwork, fault, monkeypatch)
    assert _sweep(clockwork) == (1, 0, 1)
    assert not _rows(clockwork, "globex")


def _damage_client(clockwork: MemoryClockwork, fault: Unreadable, monkeypatch: pytest.MonkeyPatch) -> None:
    get = clockwork.clients.get

    def get_some(client_id: str, *, fresh: bool = False) -> Any:
        if client_id == "acme":
            raise fault
        return get(client_id, fresh=fresh)

    monkeypatch.setattr(clockwork.clients, "get", get_some)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_client_that_cannot_be_read_fails_no_message_of_others(
    fault: Unreadable, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork = _parked()
    _damage_client(clockwork, fault, monkeypatch)
    clockwork.world.releases.send([_release("acme", 1), _release("globex", 1)], NOW)
    report = clockwork.deliver_visible()
    assert len(report.failed_messages) == 1
    assert [delivery.occurrence.client_id for delivery in clockwork.targets.delivered] == ["globex"]


def test_a_record_that_cannot_be_read_fails_its_message_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = _parked()
    damaged, other = (msgspec.structs.replace(_release("acme", number), attempt=2) for number in (1, 2))
    find = clockwork.executions.find

    def find_some(job_id: str, execution_id: str) -> Any:
        if job_id == damaged.job_id:
            raise Undecodable("damaged")
        return find(job_id, execution_id)

    monkeypatch.setattr(clockwork.executions, "find", find_some)
    clockwork.world.releases.send([damaged, other], NOW)
    assert len(clockwork.deliver_visible().failed_messages) == 1
    assert [delivery.job_id for delivery in clockwork.targets.delivered] == [other.job_id]


def _two_jobs(fault: Unreadable) -> Named:
    """Two named jobs in one shard; the job `tick` cannot be read."""
    named = Named(every_ms=60_000)
    other = named.create("other", "y", every_ms=60_000).job
    assert other.partition_id == named.job.partition_id
    named.clockwork.jobs.unreadable["acme", "tick"] = fault
    return named


def _audits_of_a_day(named: Named) -> list[AuditReport]:
    clockwork, reports = named.clockwork, []
    turn_ms = 2 * clockwork.settings.sweep_seconds * 1000
    for _ in range(86_400_000 // turn_ms):
        reports.append(audit_chains(clockwork.world, clockwork.clock.at + 60_000))
        clockwork.clock.at += turn_ms
    return reports


def _fired(named: Named) -> list[bool]:
    """For each delivery, whether it was one of the job `tick`."""
    return [delivery.job_id == named.job.job_id for delivery in named.clockwork.targets.delivered]


def test_a_damaged_job_ends_visibly_and_its_shard_goes_on() -> None:
    named = _two_jobs(Undecodable("the job tick of acme: garbage"))
    named.run(200)
    assert _fired(named) == [False] * 3
    (dead,) = (record for record in named.clockwork.executions.all() if record.state is State.DEAD)
    assert (dead.client_id, dead.kept.raw is None) == ("acme", False)
    assert "the job tick of acme" in (dead.reason or "")


def test_a_chain_of_a_damaged_job_goes_on_once_the_job_is_whole_again() -> None:
    named = _two_jobs(Undecodable("garbage"))
    named.run(400)
    del named.clockwork.jobs.unreadable["acme", "tick"]
    assert not any(_fired(named))
    assert sum(report.repaired for report in _audits_of_a_day(named)) == 1
    named.run(200)
    assert any(_fired(named))


def test_a_job_of_a_newer_version_waits_in_the_quarantine_until_that_is_deployed() -> None:
    named = _two_jobs(NewerFormat("format 9"))
    clockwork = named.clockwork
    clockwork.clock.advance(300_000)
    report = clockwork.poll(named.job.partition_id)
    assert (report.outcome, report.quarantined) == ("dry", 1)
    clockwork.jobs.unreadable.clear()
    report = clockwork.poll(named.job.partition_id)
    assert (report.outcome, report.quarantined) == ("dry", 0)
    assert report.released > 0


@pytest.mark.parametrize("fault", FAULTS)
def test_a_job_that_cannot_be_read_fails_its_message_alone(fault: Unreadable) -> None:
    named = Named(every_ms=10_000)
    named.create("other", "y")
    clockwork = named.clockwork
    clockwork.poll_all()
    clockwork.clock.advance(10_000)
    clockwork.jobs.unreadable["acme", "tick"] = fault
    anonymous = Deliver(Of(AnonymousJob("p000", row_key(NOW, "x"), 0).job_id), occurrence(), NOW)
    clockwork.world.releases.send([anonymous], clockwork.clock.at)
    received = clockwork.queue.receive(10)
    messages = [Message(one.message_id, one.body) for one in received]
    report = deliver_batch(clockwork.world, messages, clockwork.clock.at + 60_000)
    assert len(report.failed_messages) == 1
    assert sorted(delivery.job_id == anonymous.job_id for delivery in clockwork.targets.delivered) == [False, True]


def test_a_record_that_cannot_be_read_where_overlaps_are_looked_for_fails_its_message_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = Named(every_ms=10_000, overlap="skip")
    other = named.create("other", "y", every_ms=10_000).job
    clockwork = named.clockwork
    clockwork.poll_all()
    clockwork.clock.advance(10_000)
    between = clockwork.executions.between

    def read_some(job_id: str, *stretch: Any) -> Any:
        if job_id == named.job.job_id:
            raise Undecodable("damaged")
        return between(job_id, *stretch)

    monkeypatch.setattr(clockwork.executions, "between", read_some)
    assert len(clockwork.deliver_visible().failed_messages) == 1
    assert {delivery.job_id for delivery in clockwork.targets.delivered} <= {other.job_id}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_job_that_cannot_be_read_is_left_by_the_audit_and_the_others_are_audited(fault: Unreadable) -> None:
    named = Named(every_ms=10_000)
    named.create("other", "y")
    named.clockwork.jobs.unreadable["acme", "tick"] = fault
    reports = _audits_of_a_day(named)
    assert (sum(report.audited for report in reports), sum(report.left for report in reports)) == (1, 1)


def test_a_herd_of_a_client_that_cannot_be_read_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(max_rate_per_second=10.0)
    regulated.create(100, delay_ms=60_000)
    _damage_client(regulated.clockwork, Undecodable("damaged"), monkeypatch)
    regulated.clockwork.poll_all()
    assert len(regulated.clockwork.queue.messages) == 100


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_parked_row_whose_record_has_gone_is_discarded_visibly(record: str) -> None:
    clockwork = _parked()
    parked = _release("acme", 7)
    lost = msgspec.structs.replace(parked, occurrence=msgspec.structs.replace(parked.occurrence, record=record))
    clockwork.timeline.put_new([parked_row(lost)])
    clockwork.regulation.direct_parked(Parked("acme", discard_until=NOW + 60_000))
    _sweep(clockwork)
    assert not _rows(clockwork, "acme")
    stored = clockwork.executions.find(lost.job_id, lost.execution_id)
    assert stored is not None
    assert stored.state is State.CANCELLED
