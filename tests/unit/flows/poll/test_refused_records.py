"""A record that is refused permanently ends with its own row: the poller passes it, and repeats nothing of others."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable, Undecodable
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import AnonymousJob, only_execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.keys import row_key
from clockwork.domain.named_jobs import Pointer
from clockwork.domain.recurrence import Fire
from clockwork.domain.releases import Refused, Release
from clockwork.domain.storage import codec
from clockwork.domain.storage.retention import Retention
from clockwork.domain.storage.rows import release_of, releases_of, row_of, row_of_job, row_of_many
from clockwork.domain.timeline import Row
from clockwork.domain.waits import Waiting
from clockwork.flows.containment import Faults
from clockwork.flows.hardening import HardenedExecutions, HardenedReleases
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.poll.visit import PollReport
from clockwork.flows.world import Environment
from clockwork.memory.clock import MemoryClock
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Saved
from clockwork.targets.http import HttpTarget
from tests.support.examples import NOW, occurrence, release, watch_like

P, ROWS, ODD = "p000", 9, 4
BACK = HttpTarget("https://example.com/failed")
SECRET = "https://user:secret@example.com/"


def ready() -> tuple[MemoryClockwork, list[Row]]:
    """Nine rows that are due at once; the fifth is the odd one."""
    clockwork = MemoryClockwork()
    clockwork.shards.register(P)
    due = occurrence(due_at=clockwork.clock.at + 5, on_failure=BACK)
    rows = [row_of_job(P, f"{index:022d}", due, NOW * 2) for index in range(ROWS)]
    clockwork.timeline.put(rows)
    return clockwork, rows


def visits(clockwork: MemoryClockwork, count: int = 3) -> list[PollReport]:
    reports = []
    for _ in range(count):
        reports.append(poll_shard(clockwork.world, P, clockwork.clock.at + 60_000))
        clockwork.clock.advance(30_000)
    return reports


def sent(clockwork: MemoryClockwork) -> list[Release]:
    return [one for message in clockwork.queue.messages.values() for one in codec.decode_message(message.body)]


def check_the_others_are_released_once(clockwork: MemoryClockwork, reports: Sequence[PollReport]) -> None:
    assert [report.outcome for report in reports] == ["dry"] * len(reports)
    job_ids = [one.job_id for one in sent(clockwork) if one.occurrence.target != BACK]
    assert len(job_ids) == len(set(job_ids)) == ROWS - 1


def never_takes(clockwork: MemoryClockwork, odd: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    send = clockwork.queue.send

    def refuse(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        refused = [i for i, one in enumerate(releases) if one.job_id == releases_of(odd)[0].job_id]
        assert not send([one for i, one in enumerate(releases) if i not in refused], now)
        return [Refused(index, True, "too large") for index in refused]

    monkeypatch.setattr(clockwork.queue, "send", refuse)


@pytest.mark.parametrize("raises", [True, False], ids=["raises", "is told"])
@pytest.mark.parametrize("kind", ["unreadable", "unsendable"])
def test_a_death_whose_record_is_refused_is_passed_and_told(
    kind: str, raises: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork, rows = ready()
    if kind == "unreadable":
        clockwork.timeline.put([msgspec.structs.replace(rows[ODD], blob=b"\x01garbage")])
    else:
        never_takes(clockwork, rows[ODD], monkeypatch)

    def refusing(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        if raises:
            raise ValueError(f"never show {SECRET}")
        return [Saved(ok=False, unavailable="too large", is_defect=True) for _ in changes]

    monkeypatch.setattr(clockwork.executions, "save", refusing)
    with caplog.at_level(logging.ERROR):
        check_the_others_are_released_once(clockwork, visits(clockwork, 3))
        # It is tried again until its row has gone, and only then it ends in the log.
        assert not [one for one in caplog.records if getattr(one, "action", "") == "death_not_recorded"]
        assert clockwork.world.environment.faults.take() == 3
        clockwork.timeline.forget(P, [rows[ODD].key])
        check_the_others_are_released_once(clockwork, visits(clockwork, 3))
    assert len([one for one in caplog.records if getattr(one, "action", "") == "death_not_recorded"]) == 1
    assert clockwork.world.environment.faults.take() == 0
    assert SECRET not in caplog.text


@pytest.mark.parametrize("state", [State.FAILED, State.PENDING], ids=["retry", "redrive"])
def test_a_retry_that_can_never_be_sent_ends_the_record_that_waits_for_it(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork, rows = ready()
    never_takes(clockwork, rows[ODD], monkeypatch)
    first = releases_of(rows[ODD])[0]
    again = msgspec.structs.replace(first, attempt=2)
    clockwork.timeline.put([row_of(P, rows[ODD].key, [again], NOW * 2)])
    failed = first.first_record(state, NOW * 2, attempt=1, waits=Waiting(first.run_at))
    clockwork.executions.save([(None, failed)])
    check_the_others_are_released_once(clockwork, visits(clockwork))
    (dead,) = clockwork.executions.all()
    assert (dead.state, dead.attempt, dead.reason) == (State.DEAD, 1, "it cannot be released: too large")
    assert [one.occurrence.target for one in sent(clockwork)].count(BACK) == 1


@pytest.mark.parametrize("state", [State.RUNNING, State.PARKED, State.FAILED, State.SUCCEEDED])
def test_a_copy_that_can_never_be_sent_leaves_the_record_to_whoever_goes_on_with_it(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork, rows = ready()
    never_takes(clockwork, rows[ODD], monkeypatch)
    first = releases_of(rows[ODD])[0]
    stored = first.first_record(state, NOW * 2, attempt=1, reason="another has it")
    clockwork.executions.save([(None, stored)])
    check_the_others_are_released_once(clockwork, visits(clockwork))
    assert clockwork.executions.all() == [stored]


def test_the_watch_of_an_attempt_that_runs_comes_again_where_the_queue_would_not_take_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork, rows = ready()
    first = releases_of(rows[ODD])[0]
    watch = watch_like(first)
    clockwork.timeline.put([row_of(P, rows[ODD].key, [watch], NOW * 2)])
    running = first.first_record(State.RUNNING, NOW * 2, attempt=1)
    clockwork.executions.save([(None, running)])
    with monkeypatch.context() as refusing:
        never_takes(clockwork, rows[ODD], refusing)
        check_the_others_are_released_once(clockwork, visits(clockwork))
    assert watch not in sent(clockwork)
    visits(clockwork)
    assert sent(clockwork).count(watch) == 1
    assert clockwork.executions.all() == [running]


def test_a_row_about_whose_record_a_store_gives_no_answer_waits_in_the_quarantine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork, rows = ready()
    clockwork.timeline.put([msgspec.structs.replace(rows[ODD], blob=b"\x01garbage")])
    with monkeypatch.context() as broken:
        broken.setattr(clockwork.executions, "save", lambda changes: [Saved(ok=False, unavailable="no")] * len(changes))
        assert [(one.outcome, one.quarantined) for one in visits(clockwork, 2)] == [("dry", 1)] * 2
    assert len(sent(clockwork)) == ROWS - 1
    visits(clockwork)
    ((raw, reason),) = [(one.kept.raw, one.reason) for one in clockwork.executions.all()]
    assert (raw, (reason or "").partition(":")[0]) == (b"\x01garbage", "its row cannot be decoded")


@pytest.mark.parametrize("fault", [Undecodable("damaged"), ValueError(SECRET)], ids=["undecodable", "defect"])
def test_a_callback_whose_client_cannot_be_read_is_passed_and_told(
    fault: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork, rows = ready()
    never_takes(clockwork, rows[ODD], monkeypatch)

    def unread(_: str) -> Any:
        raise fault

    monkeypatch.setattr(clockwork.clients, "get", unread)
    with caplog.at_level(logging.WARNING):
        check_the_others_are_released_once(clockwork, visits(clockwork))
    assert [one for one in caplog.records if getattr(one, "action", "") == "callback_not_placed"]
    assert len(clockwork.executions.all()) == 1
    assert SECRET not in caplog.text


def test_a_callback_that_the_queue_never_takes_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork, rows = ready()
    send = clockwork.queue.send

    def refuse(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        refused = [i for i, one in enumerate(releases) if odd(one)]
        assert not send([one for i, one in enumerate(releases) if i not in refused], now)
        return [Refused(index, True, "too large") for index in refused]

    def odd(release: Release) -> bool:
        return release.job_id == releases_of(rows[ODD])[0].job_id or release.occurrence.target == BACK

    monkeypatch.setattr(clockwork.queue, "send", refuse)
    check_the_others_are_released_once(clockwork, visits(clockwork))


def test_a_death_that_cannot_even_be_planned_is_planned_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork, rows = ready()
    never_takes(clockwork, rows[ODD], monkeypatch)

    def raising(*_: object) -> Execution:
        raise ValueError(SECRET)

    with monkeypatch.context() as broken:
        broken.setattr("clockwork.flows.poll.burials.plan_death", raising)
        check_the_others_are_released_once(clockwork, visits(clockwork, 1))
        assert clockwork.world.environment.faults.take() == 1
    # It was set aside: the defect has passed, and the death is recorded after all.
    check_the_others_are_released_once(clockwork, visits(clockwork, 3))
    assert len(clockwork.executions.all()) == 1


def raises(*_: object) -> Any:
    raise ValueError(SECRET)


def test_a_row_that_is_given_up_is_recorded_for_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork, _ = ready()
    pointer = Pointer("acme", "daily", "v", Fire(NOW + 7, NOW + 7, 1))
    clockwork.timeline.put([Row(P, pointer.key, codec.encode_row([pointer]), NOW * 2)])
    monkeypatch.setattr(clockwork.jobs, "get", lambda refs: [object()] * len(refs))
    assert [report.outcome for report in visits(clockwork)] == ["dry"] * 3
    told = [(one.client_id, one.reason) for one in clockwork.executions.all()]
    assert told == [("acme", "its row is given up: internal fault: AttributeError")]
    assert len(sent(clockwork)) == ROWS


def test_of_a_packed_row_only_the_job_that_raises_ends_and_the_others_are_released(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork, _ = ready()
    due = [occurrence(due_at=clockwork.clock.at + 6 + place) for place in range(4)]
    packed = row_of_many(P, row_key(due[0].due_at, "x" * 22), dict(enumerate(due)), NOW * 2)
    clockwork.timeline.put([packed])

    def odd(row: Row, index: int, element: Occurrence) -> Release:
        if row.key == packed.key and index == 2:
            raise ValueError(SECRET)
        return release_of(row, index, element)

    monkeypatch.setattr("clockwork.flows.poll.expand.release_of", odd)
    assert {report.outcome for report in visits(clockwork)} == {"dry"}
    jobs = [AnonymousJob(P, packed.key, place).job_id for place in range(4)]
    assert [one.job_id for one in sent(clockwork) if one.job_id in jobs] == [jobs[0], jobs[1], jobs[3]]
    (dead,) = clockwork.executions.all()
    ended = dead.job_id, dead.execution_id, dead.client_id, dead.state
    assert ended == (jobs[2], only_execution(jobs[2], due[2].due_at), due[2].client_id, State.DEAD)
    assert dead.reason == "its release cannot be made: internal fault: ValueError"


def test_a_row_that_cannot_even_be_given_up_waits_in_the_quarantine_until_it_can(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork, rows = ready()
    clockwork.timeline.put([msgspec.structs.replace(rows[ODD], blob=b"\x01garbage")])
    with monkeypatch.context() as broken:
        broken.setattr("clockwork.flows.poll.expand.undecodable_execution", raises)
        check_the_others_are_released_once(clockwork, visits(clockwork, 2))
        assert clockwork.world.environment.faults.take() > 2
    check_the_others_are_released_once(clockwork, visits(clockwork, 2))
    assert [one.kept.raw for one in clockwork.executions.all()] == [b"\x01garbage"]
    assert SECRET not in caplog.text


@pytest.mark.parametrize("ordered", [False, True])
def test_an_odd_one_among_500_costs_a_few_calls_and_not_500(ordered: bool) -> None:
    key = {"ordering_key": "k"} if ordered else {}
    releases = [release(job_id=f"job-{n}", occurrence=occurrence(record="full", **key)) for n in range(500)]
    calls: list[int] = []

    def call(items: Sequence[Any], *_: object) -> Sequence[Any]:
        calls.append(len(items))
        if any("job-77" in repr(one) for one in items):
            raise ValueError(SECRET)
        return [Saved(ok=True)] * len(items) if isinstance(items[0], tuple) else ()

    queue = HardenedReleases(SimpleNamespace(send=call), Faults())
    assert [one.index for one in queue.send(releases, NOW)] == [77]
    assert len(calls) <= 61
    calls.clear()
    clients = SimpleNamespace(get=lambda _: None)
    port = SimpleNamespace(save=call)
    executions = HardenedExecutions(port, Environment(), MemoryClock(NOW), Retention(1, 1, 1), clients)
    records = [(None, one.first_record(State.PENDING, NOW, waits=Waiting(NOW))) for one in releases]
    assert [index for index, one in enumerate(executions.save(records)) if not one.ok] == [77]
    assert len(calls) <= 19


def test_behind_a_piece_with_a_refused_head_nothing_of_its_order_is_sent() -> None:
    taken: list[str] = []

    def send(releases: Sequence[Release], _: int) -> Sequence[Refused]:
        if any(one.job_id == "job-2" for one in releases):
            raise Unavailable("it raises, although it must not") if len(releases) == 1 else ValueError(SECRET)
        taken.extend(one.job_id for one in releases)
        return ()

    of_key = [occurrence(record="full", ordering_key="ab"[n % 2]) for n in range(30)]
    releases = [release(job_id=f"job-{n}", occurrence=one) for n, one in enumerate(of_key)]
    queue = HardenedReleases(SimpleNamespace(send=send), Faults())
    assert [one.index for one in queue.send(releases, NOW)] == list(range(2, 30, 2))
    assert taken == ["job-0", *[f"job-{n}" for n in range(1, 30, 2)]]
