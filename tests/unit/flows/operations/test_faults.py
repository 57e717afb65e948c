"""Faults of operations: processes die, sweeps meet, stops race, stores fail, and each ends with its own operation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest

from clockwork.domain.clients import DELETED
from clockwork.domain.errors import NewerFormat, TooManyOpen, Unavailable, Undecodable
from clockwork.domain.executions import State
from clockwork.domain.releases import Refused, Release
from clockwork.domain.requests.operations import (
    FIRST_WAIT_MS,
    GIVEN_UP_MS,
    LONGEST_WAIT_MS,
    MOST_OPEN,
    Kind,
    Meant,
    Open,
    Stage,
)
from clockwork.domain.requests.trail import unnoted
from clockwork.flows.operations.begin import Asked, begin
from clockwork.flows.operations.turn import turn
from clockwork.ports import Saved
from tests.support.dying import PORTS, Crash, Dying
from tests.support.operating import BOB, Operating
from tests.unit.flows.sweep.test_sweeps_at_once import meanwhile

COUNT = 150
WRITTEN = (*PORTS, "operations")
LEASE_MS = 310_000


def deaths(kind: Kind) -> Iterator[tuple[Operating, str]]:
    """A Clockwork whose sweep died behind each of its writes in turn."""
    last = 0
    while True:
        last += 1
        operating = Operating(acme=COUNT)
        operation_id = operating.begin(kind=kind)
        with suppress(Crash):
            operating.sweep(Dying(operating.world, last, of=WRITTEN).world)
            return
        yield operating, operation_id


@pytest.mark.long
@pytest.mark.parametrize("kind", [Kind.REDRIVE_DEAD, Kind.DISCARD_DEAD])
def test_a_sweep_that_dies_behind_any_write_loses_nothing_and_says_what_is_not_certain(kind: Kind) -> None:
    died = 0
    for operating, operation_id in deaths(kind):
        died += 1
        operating.clockwork.clock.advance(LEASE_MS)
        operating.sweep()
        record = operating.record(operation_id)
        assert record.stage is Stage.DONE
        assert record.changed <= COUNT <= record.changed + 100 * record.uncertain
        assert list(operating.world.operations.open()) == []
        operating.mended = True
        operating.run(120)
        assert operating.dead() == operating.redriven() == 0
    assert died >= 6


def test_an_api_that_dies_behind_any_write_leaves_an_operation_or_nothing() -> None:
    for last in (1, 2):
        operating = Operating(acme=1)
        asked = Asked(kind=Kind.REDRIVE_DEAD, meant=Meant(), by=BOB, max_per_second=10.0)
        with pytest.raises(Crash):
            begin(Dying(operating.world, last, of=("operations",)).world, operating.client(), asked, None, unnoted)
        operating.sweep()
        assert len(operating.world.operations.list("acme", 10, None)) == last - 1
        operating.clockwork.clock.advance(60_000)
        operating.sweep()
        assert list(operating.world.operations.open()) == []
        assert operating.dead() == (1 if last == 1 else 0)


def test_a_sweep_keeps_the_list_while_an_api_may_be_about_to_write_the_record(monkeypatch: pytest.MonkeyPatch) -> None:
    operating = Operating(acme=1)
    meanwhile(monkeypatch, operating.clockwork.operations, "put_open", operating.sweep, after=True)
    operation_id = operating.begin()
    assert operation_id in operating.world.operations.open_of("acme").since
    operating.sweep()
    assert operating.record(operation_id).stage is Stage.DONE


@pytest.mark.parametrize("port", ["find", "save"])
def test_of_two_sweeps_at_once_one_makes_each_call(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operating = Operating(acme=COUNT)
    operation_id, calls = operating.begin(), list[str]()
    dead = operating.clockwork.executions.dead

    def counted(client_id: str, *rest: Any, **named: Any) -> Any:
        calls.append(client_id)
        return dead(client_id, *rest, **named)

    monkeypatch.setattr(operating.clockwork.executions, "dead", counted)
    meanwhile(monkeypatch, operating.clockwork.operations, port, operating.sweep, after=True)
    operating.sweep()
    record = operating.record(operation_id)
    assert (record.stage, record.changed, record.matched, record.uncertain) == (Stage.DONE, COUNT, COUNT, 0)
    assert len(calls) == record.calls


def test_a_sweep_that_was_out_for_longer_than_its_lease_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    operating = Operating(acme=COUNT)
    operation_id = operating.begin(kind=Kind.DISCARD_DEAD)

    def other() -> None:
        operating.clockwork.clock.advance(LEASE_MS)
        operating.sweep()

    meanwhile(monkeypatch, operating.clockwork.executions, "save", other, after=True)
    operating.sweep()
    record = operating.record(operation_id)
    assert (record.stage, record.uncertain, record.changed) == (Stage.DONE, 1, COUNT - 100)
    assert list(operating.listed()) == []


def test_a_stop_ends_an_operation_at_once_and_nothing_follows() -> None:
    operating = Operating(acme=COUNT)
    operation_id = operating.begin()
    stopped = operating.stop(operation_id)
    assert (stopped.stage, stopped.stopped_by) == (Stage.STOPPED, BOB)
    assert list(operating.world.operations.open()) == []
    operating.sweep()
    assert (operating.redriven(), operating.record(operation_id)) == (0, stopped)
    assert operating.stop(operation_id) == stopped


@pytest.mark.parametrize("name", ["dead", "save"])
def test_a_stop_that_meets_a_call_ends_the_operation_behind_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operating = Operating(acme=COUNT)
    operation_id = operating.begin(kind=Kind.DISCARD_DEAD)
    met: list[Stage] = []
    meanwhile(
        monkeypatch,
        operating.clockwork.executions,
        name,
        lambda: met.append(operating.stop(operation_id).stage),
        after=True,
    )
    operating.sweep()
    record = operating.record(operation_id)
    assert met == [Stage.STOPPING]
    assert (record.stage, record.changed, record.calls, record.uncertain) == (Stage.STOPPED, 100, 1, 0)
    assert operating.dead() == COUNT - 100
    assert list(operating.world.operations.open()) == []


def test_a_stop_of_a_call_that_died_is_carried_out_by_the_next_sweep() -> None:
    operating = Operating(acme=COUNT)
    operation_id = operating.begin(kind=Kind.DISCARD_DEAD)
    with pytest.raises(Crash):
        operating.sweep(Dying(operating.world, 1, of=("operations",)).world)
    assert operating.stop(operation_id).stage is Stage.STOPPING
    operating.sweep()
    assert operating.record(operation_id).stage is Stage.STOPPING
    operating.clockwork.clock.advance(LEASE_MS)
    operating.sweep()
    record = operating.record(operation_id)
    assert (record.stage, record.changed, record.uncertain) == (Stage.STOPPED, 0, 1)
    assert list(operating.world.operations.open()) == []


def refusing(operating: Operating, client_id: str, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Lets every save of a client's records go without an answer; when each was (ms)."""
    saves: list[int] = []
    save = operating.clockwork.executions.save

    def refused(changes: Any) -> Any:
        if not changes or changes[0][1].client_id != client_id:
            return save(changes)
        saves.append(operating.clockwork.clock.at)
        operating.clockwork.clock.advance(1_000)
        return [Saved(ok=False, unavailable="throttled") for _ in changes]

    monkeypatch.setattr(operating.clockwork.executions, "save", refused)
    return saves


def test_calls_that_fail_for_minutes_are_tried_again_ever_later_and_keep_no_other_client_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operating = Operating(acme=5, other=250)
    operating.clockwork.clock.advance(1)
    with monkeypatch.context() as patch:
        tried = refusing(operating, "acme", patch)
        mine, others = operating.begin(), operating.begin("other")
        for _ in range(10):
            operating.sweep()
            operating.clockwork.clock.advance(1)
        record = operating.record(mine)
        assert operating.record(others, "other").stage is Stage.DONE
        assert (record.stage, record.changed, record.fault) == (Stage.RUNNING, 0, "throttled")
        assert record.failures == record.uncertain == len(tried)
        waits = [after - before for before, after in pairwise(tried)]
        assert waits[0] >= FIRST_WAIT_MS
        assert all(after > before for before, after in pairwise(waits))
    operating.clockwork.clock.advance(LONGEST_WAIT_MS)
    operating.sweep()
    record = operating.record(mine)
    assert (record.stage, record.changed, record.failures, record.fault) == (Stage.DONE, 5, 0, None)


def test_an_operation_that_fails_for_a_day_is_given_up_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    operating = Operating(acme=1)
    refusing(operating, "acme", monkeypatch)
    operation_id = operating.begin()
    operating.sweep(share_ms=11_000)
    operating.clockwork.clock.advance(GIVEN_UP_MS)
    operating.sweep()
    record = operating.record(operation_id)
    assert (record.stage, record.fault, record.changed) == (Stage.FAILED, "throttled", 0)
    assert list(operating.world.operations.open()) == []


def test_a_defect_in_a_call_ends_with_its_operation_and_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    operating = Operating(acme=2, other=2)
    dead = operating.clockwork.executions.dead

    def broken(client_id: str, *rest: Any, **named: Any) -> Any:
        if client_id == "acme":
            raise ZeroDivisionError
        return dead(client_id, *rest, **named)

    monkeypatch.setattr(operating.clockwork.executions, "dead", broken)
    mine, others = operating.begin(), operating.begin("other")
    operating.sweep(share_ms=11_000)
    assert operating.record(mine).fault == "internal fault: ZeroDivisionError"
    assert operating.record(others, "other").stage is Stage.DONE
    assert operating.world.environment.faults.take() >= 1


def test_a_client_whose_calls_are_slow_takes_no_turns_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    operating = Operating(acme=400, other=400)
    dead = operating.clockwork.executions.dead

    def slow(client_id: str, *rest: Any, **named: Any) -> Any:
        operating.clockwork.clock.advance(8_000 if client_id == "acme" else 100)
        return dead(client_id, *rest, **named)

    monkeypatch.setattr(operating.clockwork.executions, "dead", slow)
    mine, others = operating.begin(), operating.begin("other")
    operating.sweep(share_ms=30_000)
    assert operating.record(others, "other").stage is Stage.DONE
    assert operating.record(mine).stage is Stage.RUNNING


@pytest.mark.parametrize("how", ["deleting", "gone", "another"])
def test_the_operations_of_a_client_that_is_deleted_end_and_change_nothing(how: str) -> None:
    operating = Operating(acme=3)
    operation_id = operating.begin()
    now = operating.clockwork.clock.at
    changes: dict[str, dict[str, Any]] = {
        "deleting": {"deleting_at": now},
        "gone": {"deleting_at": now, "gone_at": now},
        "another": {"since_at": now},
    }
    operating.put("acme", **changes[how])
    operating.sweep()
    record = operating.record(operation_id)
    assert (record.stage, record.fault, record.changed) == (Stage.STOPPED, DELETED, 0)
    assert list(operating.world.operations.open()) == []


def test_a_record_that_nobody_can_read_leaves_the_list_and_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    operating = Operating(acme=1)
    damaged, newer, fine = operating.begin(), operating.begin(), operating.begin()
    find = operating.clockwork.operations.find
    unread = {damaged: Undecodable("damaged"), newer: NewerFormat("format 9")}
    monkeypatch.setattr(
        operating.clockwork.operations, "find", lambda client_id, one: unread.get(one) or find(client_id, one)
    )
    operating.sweep()
    assert list(operating.world.operations.open_of("acme").since) == [newer]
    assert operating.record(fine).stage is Stage.DONE


def test_operations_that_this_version_cannot_read_take_no_place_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    operating = Operating(acme=1)
    unread = {operating.begin() for _ in range(MOST_OPEN)}
    with pytest.raises(TooManyOpen):
        operating.begin()
    find, newer = operating.clockwork.operations.find, NewerFormat("format 9")
    monkeypatch.setattr(
        operating.clockwork.operations, "find", lambda client_id, one: newer if one in unread else find(client_id, one)
    )
    fine = {operating.begin() for _ in range(MOST_OPEN)}
    with pytest.raises(TooManyOpen):
        operating.begin()
    operating.sweep()
    assert operating.world.operations.open_of("acme").since.keys() == unread
    assert {operating.record(one).stage for one in fine} == {Stage.DONE}


def test_a_port_without_an_answer_leaves_the_operation_to_the_next_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    operating = Operating(acme=1, other=1)
    mine, others = operating.begin(), operating.begin("other")
    find = operating.clockwork.operations.find

    def mute(client_id: str, operation_id: str) -> Any:
        if client_id == "acme":
            raise Unavailable("no answer")
        return find(client_id, operation_id)

    with monkeypatch.context() as patch:
        patch.setattr(operating.clockwork.operations, "find", mute)
        assert operating.sweep().left == 1
    assert operating.record(others, "other").stage is Stage.DONE
    operating.sweep()
    assert operating.record(mine).stage is Stage.DONE


def test_a_list_that_loses_a_race_is_written_again(monkeypatch: pytest.MonkeyPatch) -> None:
    operating = Operating(acme=1)

    def step() -> None:
        others = Open("acme", {"another": operating.clockwork.clock.at})
        assert operating.clockwork.operations.put_open(Open("acme"), others)

    meanwhile(monkeypatch, operating.clockwork.operations, "open_of", step, after=True)
    operation_id = operating.begin()
    assert list(operating.world.operations.open_of("acme").since) == ["another", operation_id]
    assert operating.record(operation_id).stage is Stage.RUNNING


def test_an_execution_that_the_queue_never_takes_ends_dead_again_and_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operating = Operating(acme=3)
    odd = operating.listed()[1].execution_id
    send = operating.clockwork.queue.send

    def refusing(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        never = [index for index, one in enumerate(releases) if one.execution_id == odd]
        assert not send([one for index, one in enumerate(releases) if index not in never], now)
        return [Refused(index, permanent=True, reason="too large") for index in never]

    monkeypatch.setattr(operating.clockwork.queue, "send", refusing)
    operation_id = operating.begin()
    operating.sweep()
    record = operating.record(operation_id)
    assert (record.stage, record.changed, record.uncertain) == (Stage.DONE, 3, 0)
    operating.mended = True
    operating.run(120)
    (dead,) = operating.listed()
    assert (dead.execution_id, dead.state, dead.reason) == (odd, State.DEAD, "it cannot be released: too large")


@pytest.mark.parametrize("opened_before_ms", [0, 300_000])
def test_a_sweep_whose_read_was_slow_leaves_in_the_list_what_was_begun_meanwhile(
    monkeypatch: pytest.MonkeyPatch, opened_before_ms: int
) -> None:
    """It read nothing before the api wrote the record, or before a repeat put the operation into the list once more."""
    operating = Operating(acme=3)
    operation_id = operating.begin()
    operations, clock = operating.clockwork.operations, operating.clockwork.clock
    opened_at = operations.open_of("acme").since[operation_id]
    find = operations.find

    def slow(client_id: str, operation_id: str) -> None:
        monkeypatch.setattr(operations, "find", find)
        clock.at += 170_000

    monkeypatch.setattr(operations, "find", slow)
    assert turn(operating.world, "acme", operation_id, opened_at - opened_before_ms) is None
    assert list(operations.open_of("acme").since) == [operation_id]
    operating.sweep()
    assert operating.record(operation_id).stage is Stage.DONE
