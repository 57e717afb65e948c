"""A change of a job of which thousands wait: they end together, within bounds, and what is parked leaves by a ramp."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, State
from clockwork.domain.fires.chains import release_of
from clockwork.domain.lifecycle.parking import BEHIND_CIRCUIT, FIRST_RATE, parked_record, parked_row, ramp
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.named.changes import cancelled, replaced
from clockwork.domain.recurrence import Fire
from clockwork.domain.releases import Release
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.waits import Waiting
from clockwork.flows.named.write import unchanged
from clockwork.ports import Saved
from clockwork.targets.http import HttpTarget
from tests.support.examples import changed
from tests.support.named import Named, execution_of

OLD, NEW = (HttpTarget(f"https://{host}.example.com/hook") for host in ("old", "new"))


class Many(Named):
    """A job with many executions that wait for a retry, or are parked."""

    def __init__(self, count: int, state: State = State.FAILED, reason: str | None = None, **definition: Any) -> None:
        super().__init__(target=OLD, every_ms=86_400_000, **definition)
        fires = [Fire(self.start - n * 1000, self.start - n * 1000, n) for n in range(count)]
        self.releases = [release_of(self.job, fire) for fire in fires]
        records = [
            parked_record(one, None, reason, self.start * 2)
            if reason is not None
            else one.first_record(state, self.start * 2, attempt=1, waits=Waiting(self.start * 2))
            for one in self.releases
        ]
        self.clockwork.executions.save([(None, one) for one in records])
        if reason is not None:
            self.clockwork.timeline.put([parked_row(one, "old.example.com") for one in self.releases])
        self.clockwork.queue.messages.clear()

    def moved(self, **definition: Any) -> Any:
        return self.change(replaced(self.definition(**{"target": NEW, "every_ms": 86_400_000, **definition}), b'"n"'))

    def sent(self) -> list[Release]:
        messages = self.clockwork.queue.messages.values()
        return sorted((one for m in messages for one in decode_message(m.body)), key=lambda one: one.run_at)


def saves_of(many: Many, monkeypatch: pytest.MonkeyPatch, refuse: int = 0) -> list[int]:
    """How many records each save had from now on; `refuse`: so many of the first one get no answer."""
    save, sizes = many.clockwork.executions.save, list[int]()

    def counted(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        sizes.append(len(changes))
        out = refuse if len(sizes) == 1 else 0
        return [*[Saved(ok=False, unavailable="throttled")] * out, *save(changes[out:])]

    monkeypatch.setattr(many.clockwork.executions, "save", counted)
    return sizes


def test_thousands_that_wait_are_ended_by_few_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    many = Many(2_500)
    sizes = saves_of(many, monkeypatch)
    written = many.change(cancelled(None))
    assert [sizes, len(written.under_way.ended), written.may_be_under_way] == [[2_500], 2_500, False]
    assert {one.state for one in many.clockwork.executions.all()} == {State.CANCELLED}


def test_one_that_another_writer_claims_meanwhile_is_told_as_running(monkeypatch: pytest.MonkeyPatch) -> None:
    many = Many(5)
    save, first = many.clockwork.executions.save, many.clockwork.executions.all()[0]
    claimed = changed(first, state=State.RUNNING, attempt=2, claimant="c", claim_until=many.start + 60_000)
    twice = many.clockwork.executions.all()[1]

    def overtaken(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        monkeypatch.setattr(many.clockwork.executions, "save", save)
        save([(first, claimed), (twice, twice.changed(reason="another writer"))])
        return save(changes)

    monkeypatch.setattr(many.clockwork.executions, "save", overtaken)
    written = many.change(cancelled(None))
    assert ([one.execution_id for one in written.running], len(written.under_way.ended)) == ([first.execution_id], 4)


def test_one_that_keeps_changing_or_gets_no_answer_is_left_to_its_deliverer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    many = Many(5)
    saves_of(many, monkeypatch, refuse=2)
    assert len(many.change(cancelled(None)).under_way.ended) == 3
    many, sizes = Many(5), list[int]()

    def contended(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        sizes.append(len(changes))
        return [Saved(ok=False, actual=before) for before, _ in changes]

    monkeypatch.setattr(many.clockwork.executions, "save", contended)
    written = many.change(cancelled(None))
    assert (len(written.under_way.waiting), sizes) == (5, [5] * 9)
    told = [one for one in caplog.records if getattr(one, "action", "") == "waiting_not_ended"]
    assert len(told) == 2 + 5


def test_no_more_are_ended_than_one_answer_has_time_for_and_the_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.flows.named.in_flight.MOST_AT_ONCE", 3)
    many = Many(5)
    written = many.change(cancelled(None))
    assert (len(written.under_way.ended), written.may_be_under_way) == (3, True)
    again = unchanged(many.clockwork.world, many.stored)
    assert (len(again.under_way.ended), again.may_be_under_way) == (2, False)


def test_what_was_parked_for_the_old_host_leaves_by_the_ramp_those_due_first_at_first() -> None:
    many = Many(400, reason=BEHIND_CIRCUIT)
    many.moved()
    sent = many.sent()
    assert [one.occurrence.due_at for one in sent] == sorted(one.occurrence.due_at for one in many.releases)
    in_first_minute = [one for one in sent if one.run_at < many.start + 60_000]
    assert (len(sent), len(in_first_minute), {one.attempt for one in sent}) == (400, int(60 * FIRST_RATE), {1})


@pytest.mark.parametrize("retry_after_ms", [None, 40])
def test_what_was_parked_a_moment_before_its_instant_does_not_leave_before_it(retry_after_ms: int | None) -> None:
    many = Many(1, reason=BEHIND_CIRCUIT)
    if retry_after_ms is not None:
        (first,) = many.clockwork.executions.all()
        retried = changed(first, attempt=1, next_attempt_at=many.start + retry_after_ms)
        many.clockwork.executions.save([(first, retried)])
    many.clockwork.clock.at = many.start - 91
    many.moved()
    assert [one.run_at - many.start for one in many.sent()] == [retry_after_ms or 0]


@pytest.mark.parametrize(("reason", "key"), [("its client is paused: tests", None), (BEHIND_CIRCUIT, "k")])
def test_what_a_pause_parked_and_what_keeps_an_order_is_not_sent_anew(reason: str, key: str | None) -> None:
    ordered: dict[str, Any] = {} if key is None else {"ordering_key": key, "sequence": 0}
    many = Many(3, reason=reason, **ordered)
    many.moved(**ordered)
    assert many.sent() == []
    assert not many.clockwork.ordered_queue.messages


def test_a_call_that_died_before_it_released_what_was_parked_is_finished_by_its_repeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = Many(3, reason=BEHIND_CIRCUIT)
    with monkeypatch.context() as dying:
        dying.setattr("clockwork.flows.named.write.release_parked", lambda *_: None)
        many.moved()
    assert many.sent() == []
    own = Circuit("acme", "new.example.com", many.start, many.start + 1000, 1000)
    assert many.clockwork.regulation.save_circuit(None, own)
    unchanged(many.clockwork.world, many.stored)
    assert many.sent() == []
    many.clockwork.regulation.close_circuit("acme", "new.example.com")
    unchanged(many.clockwork.world, many.stored)
    assert len(many.sent()) == 3
    many.run(30)
    states = {one.state for one in many.clockwork.executions.all()}
    assert states == {State.SUCCEEDED}
    many.clockwork.clock.advance(3_600_000)
    parked = parked_record(many.releases[0], None, BEHIND_CIRCUIT, many.start * 2)
    many.clockwork.executions._records[parked.job_id, parked.execution_id] = msgspec.structs.replace(parked)
    unchanged(many.clockwork.world, many.stored)
    assert many.sent() == []


def test_the_ramp_doubles_its_rate() -> None:
    instants = [at for at, _ in zip(ramp(0, 60), range(900), strict=False)]
    assert [sum(60_000 * n <= at < 60_000 * (n + 1) for at in instants) for n in range(2)] == [300, 600]


def made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.flows.named.unended.PAGE", 10)
    monkeypatch.setattr("clockwork.flows.named.unended.MOST_PAGES", 4)


def reads_of(many: Many, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records each read of the job's records had from now on."""
    read, sizes = many.clockwork.executions.list, list[int]()

    def counted(job_id: str, limit: int, before: str | None) -> Sequence[Execution]:
        page = read(job_id, limit, before)
        sizes.append(len(page))
        return page

    monkeypatch.setattr(many.clockwork.executions, "list", counted)
    return sizes


def test_a_call_reads_so_many_young_records_and_its_repeats_go_on_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    made_small(monkeypatch)
    many = Many(105)
    sizes = reads_of(many, monkeypatch)
    written = many.change(cancelled(None))
    assert (len(written.under_way.ended), written.may_be_under_way, sizes) == (40, True, [10] * 4)
    ended = []
    for _ in range(3):
        sizes.clear()
        again = unchanged(many.clockwork.world, many.stored)
        assert len(sizes) <= 4
        ended.append((len(again.under_way.ended), again.may_be_under_way))
    # Each repeat reads the newest page once more, and the last instant that was read before.
    assert ended == [(29, True), (29, True), (7, False)]
    assert {one.state for one in many.clockwork.executions.all()} == {State.CANCELLED}


def test_what_runs_behind_the_newest_records_is_told_by_every_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    made_small(monkeypatch)
    many = Many(50)
    oldest_first = sorted(many.clockwork.executions.all(), key=lambda one: one.due_at)
    waiting = oldest_first[-15]
    running = changed(waiting, state=State.RUNNING, attempt=2, claimant="c", claim_until=many.start + 60_000)
    assert many.clockwork.executions.save([(waiting, running)])[0].ok
    assert many.change(cancelled(None)).running == [running]
    for _ in range(2):
        assert unchanged(many.clockwork.world, many.stored).running == [running]
    over = running.changed(state=State.SUCCEEDED, claim=None)
    assert many.clockwork.executions.save([(running, over)])[0].ok
    for _ in range(3):
        again = unchanged(many.clockwork.world, many.stored)
    assert (again.running, again.may_be_under_way) == ([], False)


def test_what_runs_among_the_newest_is_told_though_newer_ones_have_come_since(monkeypatch: pytest.MonkeyPatch) -> None:
    made_small(monkeypatch)
    many = Many(50)
    newest = max(many.clockwork.executions.all(), key=lambda one: one.due_at)
    running = changed(newest, state=State.RUNNING, attempt=2, claimant="c", claim_until=many.start + 60_000)
    assert many.clockwork.executions.save([(newest, running)])[0].ok
    assert many.change(cancelled(None)).running == [running]
    since = [execution_of(many.job, running.due_at + 1_000 * n, State.SUCCEEDED) for n in range(1, 16)]
    many.clockwork.executions.save([(None, one) for one in since])
    for _ in range(2):
        assert unchanged(many.clockwork.world, many.stored).running == [running]


def test_records_that_were_not_all_ended_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made_small(monkeypatch)
    monkeypatch.setattr("clockwork.flows.named.in_flight.MOST_AT_ONCE", 25)
    many = Many(60)
    many.change(cancelled(None))
    for _ in range(6):
        again = unchanged(many.clockwork.world, many.stored)
    assert not again.may_be_under_way
    assert {one.state for one in many.clockwork.executions.all()} == {State.CANCELLED}


def test_a_call_that_reads_for_long_leaves_the_rest_to_its_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.flows.named.unended.PAGE", 10)
    many = Many(60)
    read = many.clockwork.executions.list

    def slow(job_id: str, limit: int, before: str | None) -> Sequence[Execution]:
        many.clockwork.clock.advance(6_000)
        return read(job_id, limit, before)

    monkeypatch.setattr(many.clockwork.executions, "list", slow)
    written = many.change(cancelled(None))
    assert (len(written.under_way.ended), written.may_be_under_way) == (20, True)


def test_only_a_repeat_looks_for_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    made_small(monkeypatch)
    many = Many(50)
    looked: list[str] = []
    monkeypatch.setattr("clockwork.flows.named.unended._last_mark", lambda _, job: looked.append(job.job_key))
    many.change(cancelled(None))
    assert looked == []
    unchanged(many.clockwork.world, many.stored)
    assert looked == ["tick"]


def test_a_mark_that_cannot_be_written_costs_a_second_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    made_small(monkeypatch)
    many = Many(60)

    def refused(_: object) -> None:
        raise Unavailable("throttled")

    with monkeypatch.context() as broken:
        broken.setattr(many.clockwork.timeline, "put_new", refused)
        assert many.change(cancelled(None)).may_be_under_way
    again = unchanged(many.clockwork.world, many.stored)
    assert (len(again.under_way.ended), again.may_be_under_way) == (0, True)
    assert len(unchanged(many.clockwork.world, many.stored).under_way.ended) == 20
