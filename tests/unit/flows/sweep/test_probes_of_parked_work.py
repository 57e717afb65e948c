"""Probes of parked work behind an open circuit: once a probe is due, occurrences are tried until one is started."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.keys import row_key
from clockwork.domain.lifecycle.parking import FIRST_RATE
from clockwork.domain.limits.circuits import Circuit, Passage, host_of, plan_passage, unprobed
from clockwork.domain.releases import Deliver, Delivery, Of, Release
from clockwork.domain.requests.create import occurrence_of
from clockwork.domain.storage.codec import decode_message
from clockwork.flows.access import Caller
from clockwork.flows.deliver.batch import LONGEST_HOLD_MS
from clockwork.flows.deliver.circuits import update_circuits
from clockwork.flows.deliver.items import Item
from clockwork.flows.requests.cancel import cancel_job
from clockwork.flows.sweep.unpark import MOST_TRIES, unpark
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.http import HttpTarget
from tests.support.examples import ACME, ALICE, NOW, failure, new_job, release
from tests.support.regulated import Regulated, put_parked

PARKED = 3
COOLDOWN_MS = 60_000
MINE = Caller(ALICE, client_ids=frozenset({"acme"}))


def _with_parked_work(probe_in_ms: int, count: int = PARKED, hosts: int = 1, attempt: int = 1) -> MemoryClockwork:
    """A Clockwork with `count` parked occurrences per host, all but the last at `attempt`, and with open circuits."""
    clockwork = MemoryClockwork()
    clockwork.clients.put(ACME)
    now = clockwork.clock.at
    for place in range(hosts):
        occurrence = occurrence_of(new_job(delay_ms=0, target=HttpTarget(f"https://h{place}.example.com/")), ACME, now)
        for number in range(count):
            job_id = AnonymousJob("p000", row_key(now, f"{place}-{number}"), 0).job_id
            due = msgspec.structs.replace(occurrence, due_at=now + number)
            release = Deliver(Of(job_id), due, now, attempt=attempt if number < count - 1 else 1)
            put_parked(clockwork, release)
        circuit = Circuit(ACME.client_id, f"h{place}.example.com", now - 60_000, now + probe_in_ms, 60_000)
        assert clockwork.regulation.save_circuit(None, circuit)
    clockwork.regulation.note_parked(ACME.client_id, now)
    return clockwork


def _sent(clockwork: MemoryClockwork) -> list[Release]:
    sent = [release for message in clockwork.queue.messages.values() for release in decode_message(message.body)]
    return sorted(sent, key=lambda release: release.run_at)


def test_where_a_probe_is_due_what_is_parked_goes_second_by_second() -> None:
    clockwork = _with_parked_work(probe_in_ms=0)
    now = clockwork.clock.at
    assert unpark(clockwork.world, now + 60_000).released == PARKED
    assert [release.run_at - now for release in _sent(clockwork)] == [0, 1_000, 2_000]


def test_retries_are_tried_last() -> None:
    clockwork = _with_parked_work(probe_in_ms=0, attempt=3)
    unpark(clockwork.world, clockwork.clock.at + 60_000)
    assert [release.attempt for release in _sent(clockwork)] == [1, 3, 3]


def test_no_more_than_a_few_are_tried() -> None:
    clockwork = _with_parked_work(probe_in_ms=0, count=70)
    assert unpark(clockwork.world, clockwork.clock.at + 60_000).released == MOST_TRIES


def test_tries_of_many_hosts_keep_to_the_ramp_and_do_not_raise_it() -> None:
    clockwork = _with_parked_work(probe_in_ms=0, count=MOST_TRIES, hosts=35)
    released = unpark(clockwork.world, clockwork.clock.at + 60_000).released
    assert released == FIRST_RATE * clockwork.settings.sweep_seconds
    assert [parked.rate for parked in clockwork.regulation.parked()] == [FIRST_RATE]


def test_a_probe_that_waits_for_its_slot_keeps_others_from_taking_slots_for_nothing() -> None:
    regulated = _behind_a_circuit(max_rate_per_second=0.1)
    regulation = regulated.clockwork.regulation
    first_free_at = regulation.reserve("acme", 12, 10_000, regulated.start).first_at + 120_000
    regulated.create(40)
    regulated.run(26)
    for _ in range(3):
        regulated.sweep()
        regulated.run(30)
    # Only the probe took a slot, and the probe is due at the instant of that slot.
    assert regulation.reserve("acme", 1, 10_000, regulated.start).first_at == first_free_at + 10_000
    (circuit,) = regulation.circuits("acme").values()
    assert circuit.probe_at == first_free_at - LONGEST_HOLD_MS
    assert len(regulated.run(10)) == 1
    assert not regulation.circuits("acme")


def test_who_has_a_slot_already_probes_before_one_whose_slot_is_far_away() -> None:
    regulated = _behind_a_circuit(max_rate_per_second=0.1)
    clockwork = regulated.clockwork
    clockwork.regulation.reserve("acme", 100, 10_000, regulated.start)
    regulated.create(1, delay_ms=26_000)
    paced = release(run_at=regulated.start + 40_000, paced=True, occurrence=occurrence_of(new_job(), ACME, NOW))
    clockwork.world.releases.send([paced], regulated.start)
    assert regulated.run(38) == []
    (circuit,) = clockwork.regulation.circuits("acme").values()
    assert circuit.probe_at > regulated.start + 40_000
    assert [delivery.job_id for delivery in regulated.run(5)] == [paced.job_id]
    assert not clockwork.regulation.circuits("acme")


def test_a_probe_that_is_under_way_is_the_only_one_whoever_has_a_slot() -> None:
    circuit = Circuit("acme", "example.com", NOW, NOW + 1_000, COOLDOWN_MS)
    assert plan_passage(circuit, NOW, has_slot=True) == (Passage.PARK, None)
    passage, probing = plan_passage(circuit, NOW + 1_000)
    assert passage is Passage.PROBE
    assert probing is not None
    assert plan_passage(probing, NOW + 2_000, has_slot=True) == (Passage.PARK, None)
    waiting = unprobed(probing, NOW + 900_000)
    assert plan_passage(waiting, NOW + 2_000) == (Passage.PARK, None)
    passage, again = plan_passage(waiting, NOW + 2_000, has_slot=True)
    assert passage is Passage.PROBE
    assert again is not None
    assert (again.waits, again.probe_at, again.cooldown_ms) == (False, NOW + 2_000 + 2 * COOLDOWN_MS, 2 * COOLDOWN_MS)


@pytest.mark.parametrize(("status_code", "closes"), [(422, True), (None, False)])
def test_a_target_that_refuses_a_payload_has_recovered(status_code: int | None, closes: bool) -> None:
    regulated = _behind_a_circuit()
    (circuit,) = regulated.clockwork.regulation.circuits("acme").values()
    probe = Item("m0", release(occurrence=occurrence_of(new_job(), ACME, NOW)), probes=circuit, is_started=True)
    update_circuits(regulated.clockwork.world, [(probe, failure(permanent=True, status_code=status_code))])
    assert (not regulated.clockwork.regulation.circuits("acme")) == closes


def test_what_waits_of_one_client_keeps_no_other_clients_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = _with_parked_work(probe_in_ms=3_600_000, count=4_000)
    other = msgspec.structs.replace(ACME, client_id="globex")
    clockwork.clients.put(other)
    job_id = AnonymousJob("p000", row_key(NOW, "of another"), 0).job_id
    put_parked(clockwork, Deliver(Of(job_id), occurrence_of(new_job(), other, NOW), NOW))
    clockwork.regulation.note_parked("globex", clockwork.clock.at)
    read = clockwork.timeline.read

    def slowly(*asked: Any) -> Any:
        clockwork.clock.at += 1_000
        return read(*asked)

    monkeypatch.setattr(clockwork.timeline, "read", slowly)
    assert [parked.client_id for parked in clockwork.regulation.parked()] == ["acme", "globex"]
    assert unpark(clockwork.world, clockwork.clock.at + 40_000).released == 1


def test_what_was_cancelled_while_it_was_parked_keeps_nothing_else_from_being_the_probe() -> None:
    regulated = _behind_a_circuit()
    job_ids = regulated.create(40)
    regulated.run(20)
    assert regulated.parked == 40
    for job_id in job_ids[:30]:
        cancel_job(regulated.clockwork.world, MINE, job_id)
    regulated.run(10)
    delivered = 0
    for _ in range(30 // MOST_TRIES + 1):
        regulated.sweep()
        delivered += len(regulated.run(60))
    assert delivered == 10
    assert not regulated.clockwork.regulation.circuits("acme")


def test_a_probe_that_has_to_wait_for_a_permit_leaves_its_turn_to_the_next() -> None:
    regulated = _behind_a_circuit(max_concurrency=1)
    regulation = regulated.clockwork.regulation
    assert regulation.lease("acme", 0, "somebody else", regulated.start, regulated.start + 40_000)
    regulated.create(1, delay_ms=30_000)
    assert regulated.run(35) == []
    (circuit,) = regulation.circuits("acme").values()
    assert (circuit.probe_at <= regulated.clockwork.clock.at, circuit.cooldown_ms) == (True, COOLDOWN_MS)
    assert len(regulated.run(30)) == 1
    assert not regulation.circuits("acme")


def test_a_probe_that_fails_is_not_given_back() -> None:
    regulated = _behind_a_circuit()
    regulated.accepts = False
    regulated.create(1, delay_ms=30_000)
    assert len(regulated.run(31)) == 1
    (circuit,) = regulated.clockwork.regulation.circuits("acme").values()
    assert circuit.cooldown_ms == 2 * COOLDOWN_MS
    assert circuit.probe_at > regulated.clockwork.clock.at


def test_a_probe_that_cannot_be_given_back_costs_its_cooldown_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = _behind_a_circuit()
    (job_id,) = regulated.create(1, delay_ms=30_000)
    save = regulated.clockwork.regulation.save_circuit

    def save_probes_only(before: Circuit | None, after: Circuit) -> bool:
        if before is not None and after.probe_at <= regulated.clockwork.clock.at:
            raise Unavailable("throttled")
        return save(before, after)

    monkeypatch.setattr(regulated.clockwork.regulation, "save_circuit", save_probes_only)
    regulated.run(5)
    cancel_job(regulated.clockwork.world, MINE, job_id)
    assert regulated.run(40) == []
    (circuit,) = regulated.clockwork.regulation.circuits("acme").values()
    assert circuit.cooldown_ms == 2 * COOLDOWN_MS
    assert not regulated.clockwork.queue.messages


class _Killed(BaseException):
    """The end of a deliverer's environment: no `except Exception` sees it."""


def test_what_takes_each_deliverer_down_does_not_stay_the_probe_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = _behind_a_circuit()
    (fatal,) = regulated.create(1, record="none")
    good = set(regulated.create(3, delay_ms=6_000))
    targets = regulated.clockwork.targets
    begin = targets.begin

    def begin_or_die(slot: int, delivery: Delivery) -> None:
        if delivery.job_id == fatal:
            raise _Killed
        begin(slot, delivery)

    monkeypatch.setattr(targets, "begin", begin_or_die)
    for _ in range(20):
        until = regulated.clockwork.clock.at + 60_000
        while regulated.clockwork.clock.at < until:
            with suppress(_Killed):
                regulated.clockwork.run_until(until)
        regulated.sweep()
    assert {delivery.job_id for delivery in targets.delivered} == good
    assert not regulated.clockwork.regulation.circuits("acme")


def _behind_a_circuit(**client: Any) -> Regulated:
    """A regulated client whose target has an open circuit; the probe is due in 25 s."""
    regulated = Regulated(**client)
    host = host_of(new_job().target)
    assert host is not None
    circuit = Circuit("acme", host, regulated.start, regulated.start + 25_000, COOLDOWN_MS)
    assert regulated.clockwork.regulation.save_circuit(None, circuit)
    return regulated


def test_nothing_that_is_parked_goes_before_a_probe_is_due() -> None:
    clockwork = _with_parked_work(probe_in_ms=1)
    assert unpark(clockwork.world, clockwork.clock.at + 60_000).released == 0


def test_all_that_is_parked_goes_where_no_circuit_is_open() -> None:
    clockwork = _with_parked_work(probe_in_ms=1)
    clockwork.regulation.close_circuit(ACME.client_id, next(iter(clockwork.regulation.circuits(ACME.client_id))))
    assert unpark(clockwork.world, clockwork.clock.at + 60_000).released == PARKED
