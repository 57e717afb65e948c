"""Containment: a defect in the work of one client fails its items alone, in every decision and every port call."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from clockwork import flows
from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.ids import AnonymousJob, decode_job
from clockwork.domain.keys import row_key
from clockwork.domain.lifecycle.parking import parked_row
from clockwork.domain.limits.circuits import host_of
from clockwork.domain.limits.slots import urgency
from clockwork.domain.releases import Deliver, Release
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.storage.rows import row_of
from clockwork.flows.containment import Faults
from clockwork.flows.hardening import HardenedReleases
from clockwork.flows.sweep.audit import AuditReport
from clockwork.flows.sweep.dead_letters import SweepReport, sweep_dead_letters
from clockwork.flows.sweep.shards import Retirements
from clockwork.flows.sweep.sweep import repair_all
from clockwork.flows.sweep.unpark import UnparkReport, unpark
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.http import HttpTarget
from tests.support.examples import ALICE, NOW, occurrence, release_in
from tests.support.examples import release as first_release
from tests.support.named import Named

#: The client whose work raises, and those beside it.
ODD, OTHERS = "odd", ("acme", "globex", "initech", "umbrella")
SECRET = "https://user:secret@example.com/"


REPORTS = SweepReport(), AuditReport(), UnparkReport(), Retirements(), None, None


def release_of(client_id: str, record: str = "full", **changes: Any) -> Deliver:
    """A release that is due, in a timeline row of its own."""
    due = occurrence(client_id=client_id, record=record, target=HttpTarget(f"https://{client_id}.example.com/"))
    job_id = AnonymousJob("p000", row_key(NOW, f"{client_id}-{record}".ljust(22, "x")), 0).job_id
    return first_release(**{"job_id": job_id, "occurrence": due, "run_at": NOW, **changes})


#: One release of each client at each level, those of the odd one between the others.
RELEASES = [release_of(one, record) for record in ("full", "none") for one in (*OTHERS[:2], ODD, *OTHERS[2:])]
ODD_JOBS = {release.job_id for release in RELEASES if release.occurrence.client_id == ODD}


def mentions(value: object) -> bool:
    """Whether a value is about the odd client."""
    if isinstance(value, str):
        return value == ODD or any(job_id in value for job_id in ODD_JOBS) or value.startswith(f"parked/{ODD}")
    if isinstance(value, msgspec.Struct):
        return any(mentions(getattr(value, name)) for name in value.__struct_fields__)
    if isinstance(value, dict):
        return any(mentions(part) for part in (*value, *value.values()))
    return isinstance(value, list | tuple | set | frozenset) and any(map(mentions, value))


def raising(inner: Callable[..., Any], *, for_bytes: bytes | None = None) -> Callable[..., Any]:
    """The function, but that it raises whenever it is asked about the odd client."""

    def odd(*args: Any, **named: Any) -> Any:
        about = (args, named)
        if mentions(args) or mentions(named) or (for_bytes is not None and for_bytes in repr(about).encode()):
            raise ValueError(f"never show {SECRET}")
        return inner(*args, **named)

    return odd


def decisions(*rooms: str) -> Iterator[tuple[str, str]]:
    """Each decision of the domain that a module of these rooms of the flows calls: the module and the name there."""
    for found in pkgutil.walk_packages(flows.__path__, f"{flows.__name__}."):
        if not found.ispkg and found.name.split(".")[2] in rooms:
            for name, value in vars(importlib.import_module(found.name)).items():
                if inspect.isfunction(value) and value.__module__.startswith("clockwork.domain."):
                    yield found.name, name


DELIVERING = sorted(decisions("deliver", "deaths", "records"))
#: The calls of ports that delivering makes about one client's work.
CALLS = (
    ("executions", "save"),
    ("executions", "find"),
    ("queue", "send"),
    ("timeline", "put_new"),
    ("clients", "get"),
    ("regulation", "circuits"),
    ("regulation", "note_parked"),
    ("regulation", "reserve"),
    ("regulation", "lease"),
    ("targets", "begin"),
    ("notices", "send"),
)


def ready(**odd: Any) -> MemoryClockwork:
    """A Clockwork with every release in its queue. `odd`: fields of the odd client."""
    clockwork = MemoryClockwork()
    for client_id in (*OTHERS, ODD):
        clockwork.clients.put(Client(client_id=client_id, principals=(ALICE,), **(odd if client_id == ODD else {})))
    clockwork.clock.at = NOW + 1
    clockwork.queue.send(RELEASES, clockwork.clock.at)
    return clockwork


def check_others_are_delivered_once(clockwork: MemoryClockwork) -> None:
    """Each other client's two occurrences were delivered, once, and none of their messages is left."""
    delivered = [one.occurrence.client_id for one in clockwork.targets.delivered if one.occurrence.client_id != ODD]
    assert sorted(delivered) == sorted(OTHERS * 2)
    left = [release for message in clockwork.queue.messages.values() for release in decode_message(message.body)]
    assert {release.job_id for release in left} <= ODD_JOBS
    for release in RELEASES:
        if release.occurrence.client_id != ODD and release.occurrence.record == "full":
            record = clockwork.executions.find(release.job_id, release.execution_id)
            assert record is not None
            assert record.state is State.SUCCEEDED


@pytest.mark.parametrize(("module", "name"), DELIVERING, ids=lambda part: str(part).removeprefix("clockwork.flows."))
def test_a_decision_that_raises_for_one_client_fails_its_items_alone(
    module: str, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork = ready(max_rate_per_second=50.0, max_concurrency=3)
    monkeypatch.setattr(f"{module}.{name}", raising(getattr(importlib.import_module(module), name)))
    for _ in range(3):
        clockwork.deliver_visible()
        clockwork.clock.at += 1
    check_others_are_delivered_once(clockwork)
    assert SECRET not in caplog.text


@pytest.mark.parametrize("odd", [{}, {"paused": True}, {"max_rate_per_second": 50.0}, {"max_concurrency": 1}], ids=str)
@pytest.mark.parametrize(("port", "call"), CALLS, ids=lambda part: str(part))
def test_a_call_that_raises_for_one_client_fails_its_items_alone(
    port: str, call: str, odd: dict[str, Any], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork = ready(**odd)
    store = getattr(clockwork, port)
    monkeypatch.setattr(store, call, raising(getattr(store, call)))
    for _ in range(3):
        clockwork.deliver_visible()
        clockwork.clock.at += 1
    check_others_are_delivered_once(clockwork)
    assert SECRET not in caplog.text


def test_a_contained_defect_is_counted_and_logged_by_its_type_and_place(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork = ready()
    monkeypatch.setattr(clockwork.targets, "begin", raising(clockwork.targets.begin))
    clockwork.deliver_visible()
    assert clockwork.world.environment.faults.take() == 2
    (first, second) = [record for record in caplog.records if getattr(record, "action", "") == "fault_contained"]
    assert getattr(first, "error", "") == getattr(second, "error", "") == "ValueError"
    assert any("deliver.py" in place for place in getattr(first, "where", []))
    assert SECRET not in caplog.text


#: It compares one byte of a row, and there is nothing in it that could raise.
TOTAL = ("clockwork.flows.poll.portions", "is_packed")


@pytest.mark.parametrize(
    ("module", "name"),
    sorted({*decisions("poll")} - {TOTAL}),
    ids=lambda part: str(part).removeprefix("clockwork.flows."),
)
def test_a_row_that_raises_is_recorded_and_the_rows_of_others_are_released_once(
    module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork = MemoryClockwork()
    clockwork.shards.register("p000")
    for client_id in (*OTHERS, ODD):
        clockwork.clients.put(Client(client_id=client_id, principals=(ALICE,)))
    row_keys = [row_key(NOW, f"{number:022d}") for number in range(len(RELEASES))]
    clockwork.timeline.put(
        [row_of("p000", key, [one], NOW + 10**8) for key, one in zip(row_keys, RELEASES, strict=True)]
    )
    clockwork.clock.at = NOW + 1
    monkeypatch.setattr(
        f"{module}.{name}", raising(getattr(importlib.import_module(module), name), for_bytes=ODD.encode())
    )
    for _ in range(3):
        clockwork.poll("p000")
        clockwork.clock.at += 30_000
    sent = [one.job_id for message in clockwork.queue.messages.values() for one in decode_message(message.body)]
    others = [release.job_id for release in RELEASES if release.job_id not in ODD_JOBS]
    assert sorted(job_id for job_id in sent if job_id in others) == sorted(others)


def test_a_dead_letter_that_raises_stays_and_the_others_are_released(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    for message in list(clockwork.queue.messages.values()):
        clockwork.queue.dead[message.message_id] = clockwork.queue.messages.pop(message.message_id)
    monkeypatch.setattr(clockwork.executions, "find", raising(clockwork.executions.find))
    report = sweep_dead_letters(clockwork.world, clockwork.clock.at + 60_000)
    assert report.released == len(RELEASES) - len(ODD_JOBS)
    left = [one for letter in clockwork.queue.dead.values() for one in decode_message(letter.body)]
    assert {release.job_id for release in left} == ODD_JOBS
    assert clockwork.world.environment.faults.take() == report.left >= len(ODD_JOBS)


def test_parked_work_that_raises_stays_and_that_of_others_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    for paused in (True, False):
        for client_id in (*OTHERS, ODD):
            clockwork.clients.put(Client(client_id=client_id, principals=(ALICE,), paused=paused))
        if paused:
            clockwork.deliver_visible()
            assert not clockwork.queue.messages
    odd = HttpTarget(f"https://{ODD}.example.com/")

    def host(target: HttpTarget) -> str | None:
        if target == odd:
            raise ValueError(f"never show {SECRET}")
        return host_of(target)

    monkeypatch.setattr("clockwork.flows.sweep.unpark.host_of", host)
    unpark(clockwork.world, clockwork.clock.at + 60_000)
    released = [one for message in clockwork.queue.messages.values() for one in decode_message(message.body)]
    assert sorted(one.occurrence.client_id for one in released) == sorted(OTHERS * 2)
    assert clockwork.world.environment.faults.take() == len(ODD_JOBS)


def test_each_kind_of_repair_has_its_share_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork, deadlines = MemoryClockwork(), []

    def spending(_: object, deadline_at: int, **__: bool) -> Any:
        deadlines.append((clockwork.clock.at, deadline_at))
        clockwork.clock.at = deadline_at
        return REPORTS[len(deadlines) - 1]

    for name in ("sweep_dead_letters", "audit_chains", "unpark", "retire_shards", "end_too_long", "run_operations"):
        monkeypatch.setattr(f"clockwork.flows.sweep.sweep.{name}", spending)
    began_at = clockwork.clock.at
    repair_all(clockwork.world, began_at + 300_000)
    assert [until - at for at, until in deadlines] == [50_000] * 6


def _two_of_one_client(**client: Any) -> MemoryClockwork:
    clockwork = MemoryClockwork()
    clockwork.clients.put(Client(client_id=OTHERS[0], principals=(ALICE,), **client))
    clockwork.clock.at = NOW + 1
    clockwork.queue.send([release_of(OTHERS[0], record) for record in ("full", "none")], clockwork.clock.at)
    return clockwork


def _raises_for_one(inner: Callable[..., Any]) -> Callable[..., Any]:
    def odd(release: Release, *args: Any, **more: Any) -> Any:
        if release.occurrence.record == "none":
            raise ValueError(f"never show {SECRET}")
        return inner(release, *args, **more)

    return odd


def test_of_two_items_that_are_parked_the_one_that_raises_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = _two_of_one_client(paused=True)
    monkeypatch.setattr("clockwork.flows.deliver.waiting.parked_row", _raises_for_one(parked_row))
    clockwork.deliver_visible()
    left = [one for message in clockwork.queue.messages.values() for one in decode_message(message.body)]
    assert [one.occurrence.record for one in left] == ["none"]


def test_a_cap_of_one_is_kept_while_another_item_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = _two_of_one_client(max_concurrency=1, max_rate_per_second=50.0)
    clockwork.queue.send([release_of(OTHERS[0], "full", attempt=2)], clockwork.clock.at)
    leases: list[int] = []
    lease = clockwork.regulation.lease

    def counted(*args: Any, **named: Any) -> Any:
        leases.append(1)
        return lease(*args, **named)

    monkeypatch.setattr(clockwork.regulation, "lease", counted)
    monkeypatch.setattr("clockwork.flows.deliver.slots.urgency", _raises_for_one(urgency))
    clockwork.deliver_visible()
    assert len(leases) == 1


def test_of_two_named_jobs_that_are_asked_about_the_one_that_raises_fails_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = Named(every_ms=10_000)
    other = named.create("other", "y", every_ms=10_000).job
    clockwork = named.clockwork
    clockwork.poll_all()
    clockwork.clock.advance(10_000)
    released = [release_in(message.body) for message in clockwork.queue.messages.values()]
    clockwork.queue.messages.clear()
    # They have waited for a permit, so their jobs are asked about before anything else.
    due = [one.waiting(permits=1) for one in released if one.run_at <= clockwork.clock.at]
    assert {one.job_id for one in due} == {named.job.job_id, other.job_id}
    clockwork.queue.send(due, clockwork.clock.at)

    def odd(job_id: str) -> Any:
        if job_id == named.job.job_id:
            raise ValueError(f"never show {SECRET}")
        return decode_job(job_id)

    monkeypatch.setattr("clockwork.flows.deliver.inform.decode_job", odd)
    report = clockwork.deliver_visible()
    assert len(report.failed_messages) == 1
    assert {delivery.job_id for delivery in clockwork.targets.delivered} == {other.job_id}


@pytest.mark.parametrize(("error", "permanent"), [(ValueError(SECRET), True), (Unavailable("no answer"), False)])
def test_a_release_whose_send_raises_is_refused_for_good_by_a_defect_alone(error: Exception, permanent: bool) -> None:
    def send(*_: object) -> Any:
        raise error

    queue = HardenedReleases(SimpleNamespace(send=send), Faults())
    assert [(one.index, one.permanent) for one in queue.send(RELEASES[:1], NOW)] == [(0, permanent)]
