"""The table of changes: what happens to a fire that stands so when its job is changed, paused, resumed or deleted.

Each job fires every 10 s. The boundary of each change lies between two fires; B is its instant, P that of a pause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import Client
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.fires.chains import release_of
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.named.changes import Change, cancelled, paused, replaced, resumed
from clockwork.domain.named_jobs import JobState
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.recurrence import Fire
from clockwork.domain.releases import Delivery
from clockwork.flows.named import write
from clockwork.flows.named.write import Written
from clockwork.flows.sweep.unpark import unpark
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.support.examples import ACME, failure, success
from tests.support.named import Named

POLICY = RetryPolicy(backoff="fixed", initial_seconds=60, jitter="none")
NEW = Payload(b"2")
OLD_HOST, NEW_HOST = "https://old.example.com/hook", "https://new.example.com/hook"


class Case(Named):
    """A job that fires every 10 s, or once, and that stands so when it is changed."""

    def __init__(self, **definition: Any) -> None:
        self.wanted = {"retry_policy": POLICY, "target": HttpTarget(OLD_HOST), **definition}
        super().__init__(**self.wanted)
        self.fails = False
        self.clockwork.targets._answer = self._answer

    def _answer(self, _: Delivery) -> Outcome:
        now = self.clockwork.clock.now()
        return failure(started_at=now) if self.fails else success(now)

    def like(self, **changes: Any) -> Change:
        """The change to another payload (and other things) with the same timing."""
        return replaced(self.definition(**{**self.wanted, "payload": NEW, **changes}), b'"changed"')

    def changed(self, how: str) -> Written:
        """Change the job as a column of the table says."""
        ways: dict[str, Callable[[], Change]] = {
            "same timing": self.like,
            "another timing": lambda: self.like(every_ms=15_000),
            "pause": lambda: paused("p"),
            "pause and cancel": lambda: paused("p", cancels=True),
            "delete": lambda: cancelled(None),
        }
        return self.change(ways[how]())

    def deliver_alone(self, seconds: int) -> None:
        """Let time pass in which messages are delivered, and no poller comes."""
        until = self.clockwork.clock.at + seconds * 1000
        while (at := self.clockwork.queue.next_visible_at()) is not None and at <= until:
            self.clockwork.clock.at = max(self.clockwork.clock.at, at)
            self.clockwork.deliver_visible()
        self.clockwork.clock.at = until

    def at(self, second: int, run: str = "0") -> Execution | None:
        """The record of the fire that is due at a second since the start."""
        due_at = self.start + second * 1000
        return next((e for e in self.executions() if e.due_at == due_at and e.execution_id.endswith(f".{run}")), None)

    def state(self, second: int) -> State | None:
        record = self.at(second)
        return None if record is None else record.state

    def payloads(self, second: int) -> list[bytes]:
        """The payloads with which the fire of a second was delivered."""
        due_at = self.start + second * 1000
        return [d.occurrence.payload.body for d in self.clockwork.targets.delivered if d.occurrence.due_at == due_at]


@pytest.mark.parametrize(
    ("how", "end", "payloads"),
    [
        ("same timing", State.SUCCEEDED, [b"1", b"2"]),
        ("another timing", State.SUCCEEDED, [b"1", b"2"]),
        ("pause", State.SUCCEEDED, [b"1", b"1"]),
        ("pause and cancel", State.CANCELLED, [b"1"]),
        ("delete", State.CANCELLED, [b"1"]),
    ],
)
def test_due_before_and_waits_for_a_retry_when(how: str, end: State, payloads: list[bytes]) -> None:
    case = Case()
    case.fails = True
    case.run(12)
    case.fails = False
    written = case.changed(how)
    ends_now = end is State.CANCELLED
    assert [e.due_at for e in written.under_way.ended] == ([case.start + 10_000] if ends_now else [])
    assert [e.due_at for e in written.under_way.waiting] == ([] if ends_now else [case.start + 10_000])
    assert (case.state(10) is State.CANCELLED) is ends_now
    case.run(100)
    assert case.state(10) is end
    assert case.payloads(10) == payloads


@pytest.mark.parametrize(("to", "end"), [(10, State.SUCCEEDED), (500, State.CANCELLED)])
def test_due_before_and_waits_for_a_retry_when_a_job_that_fires_once(to: int, end: State) -> None:
    case = Case(recurrence=None, at=1_700_000_010_000)
    case.fails = True
    case.run(12)
    case.fails = False
    case.change(case.like(at=1_700_000_000_000 + to * 1000))
    case.run(600)
    assert case.state(10) is end
    if end is State.CANCELLED:
        assert (case.at(10).reason, case.state(500)) == ("moved by revision 2", State.SUCCEEDED)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("how", "end"),
    [
        ("same timing", State.SUCCEEDED),
        ("another timing", State.SUCCEEDED),
        ("pause", State.SUCCEEDED),
        ("pause and cancel", State.CANCELLED),
        ("delete", State.CANCELLED),
    ],
)
def test_due_before_and_parked_when(how: str, end: State) -> None:
    case = Case(max_fires=1)
    shut = Circuit("acme", "old.example.com", case.start, case.start + 40_000, 60_000)
    assert case.clockwork.regulation.save_circuit(None, shut)
    case.run(12)
    assert case.state(10) is State.PARKED
    case.changed(how)
    case.run(60)
    case.clockwork.regulation.close_circuit("acme", "old.example.com")
    unpark(case.clockwork.world, case.clockwork.clock.at + 60_000)
    case.run(100)
    assert case.state(10) is end
    assert case.payloads(10) == ([] if end is State.CANCELLED else [b"1" if how == "pause" else b"2"])


def test_due_before_and_parked_when_its_target_is_moved_does_not_wait_for_the_old_host() -> None:
    case = Case()
    shut = Circuit("acme", "old.example.com", case.start, case.start + 10**9, 10**9)
    assert case.clockwork.regulation.save_circuit(None, shut)
    case.run(12)
    assert case.state(10) is State.PARKED
    case.change(case.like(target=HttpTarget(NEW_HOST)))
    assert case.run(5) == [10.0]
    assert case.state(10) is State.SUCCEEDED
    assert case.clockwork.targets.delivered[-1].occurrence.target == HttpTarget(NEW_HOST)


@pytest.mark.parametrize("how", ["pause and cancel", "delete"])
def test_due_before_and_waits_for_a_slot_when_it_is_cancelled_takes_none(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case()
    case.run(12)
    case.clockwork.clients.put(_capped())
    case.changed(how)
    taken: list[int] = []
    reserve = case.clockwork.regulation.reserve

    def reserving(client_id: str, count: int, *rest: object) -> object:
        taken.append(count)
        return reserve(client_id, count, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(case.clockwork.regulation, "reserve", reserving)
    case.run(100)
    assert taken == []


def _capped() -> Client:
    return msgspec.structs.replace(ACME, max_rate_per_second=0.1)


@pytest.mark.parametrize(
    ("how", "end"),
    [
        ("same timing", State.SUCCEEDED),
        ("another timing", State.SUCCEEDED),
        ("pause", State.SUCCEEDED),
        ("pause and cancel", State.CANCELLED),
        ("delete", State.CANCELLED),
    ],
)
def test_running_is_listed_and_its_retry_when(how: str, end: State) -> None:
    case = Case()
    listed: list[Execution] = []

    def while_running(_: Delivery) -> Outcome:
        if not listed:
            listed.extend(case.changed(how).running)
            return failure(started_at=case.clockwork.clock.now())
        return success(case.clockwork.clock.now())

    case.clockwork.targets._answer = while_running
    case.run(200)
    assert [(e.due_at, e.state) for e in listed] == [(case.start + 10_000, State.RUNNING)]
    assert case.state(10) is end
    assert case.payloads(10) == [b"1", *([] if end is State.CANCELLED else [b"1" if how == "pause" else b"2"])]


@pytest.mark.parametrize(
    ("how", "end", "reason"),
    [
        ("same timing", State.SUCCEEDED, None),
        ("another timing", State.SKIPPED, "replaced by revision 2"),
        ("pause", State.SKIPPED, "its job is paused"),
        ("pause and cancel", State.SKIPPED, "its job is paused"),
        ("delete", State.CANCELLED, "its job was deleted"),
    ],
)
def test_released_ahead_and_due_after_when(how: str, end: State, reason: str | None) -> None:
    case = Case()
    case.run(12)
    case.changed(how)
    case.run(100)
    assert case.state(20) is end
    assert case.payloads(20) == ([b"2"] if end is State.SUCCEEDED else [])
    if reason is not None:
        assert case.at(20).reason == reason  # type: ignore[union-attr]


def test_released_ahead_and_due_after_when_the_new_timing_has_that_instant_fires_once() -> None:
    case = Case()
    case.run(12)
    case.changed("another timing")
    case.run(60)
    assert [(case.payloads(s), case.state(s)) for s in (30, 60)] == [([b"2"], State.SUCCEEDED)] * 2
    assert [case.payloads(s) for s in (15, 20, 45)] == [[b"2"], [], [b"2"]]


@pytest.mark.parametrize(("catch_up", "fired"), [("all", [20, 30, 40]), ("latest", [40]), ("none", [])])
def test_released_ahead_and_due_in_a_pause_when_it_is_resumed(catch_up: str, fired: list[int]) -> None:
    case = Case(catch_up=catch_up)
    case.run(12)
    case.change(paused(None))
    case.run(30)
    case.change(resumed(None))
    assert case.run(20) == [*map(float, fired), 50.0, 60.0]
    assert [case.state(s) for s in (20, 30, 40)] == [
        State.SUCCEEDED if s in fired else State.SKIPPED for s in (20, 30, 40)
    ]


@pytest.mark.parametrize(("catch_up", "fired"), [("all", [20, 30, 40]), ("latest", [40]), ("none", [])])
def test_due_in_a_pause_of_an_ordered_job_when_it_is_resumed_within_five_minutes(
    catch_up: str, fired: list[int]
) -> None:
    # For five minutes the ordered queue drops what it takes for a repeat of a message.
    case = Case(catch_up=catch_up, ordering_key="o", sequence=1)
    case.run(19)
    case.clockwork.clock.at += 500
    released = release_of(case.stored, Fire(case.start + 20_000, case.start + 20_000, 0))
    assert not case.clockwork.world.releases.send([released], case.clockwork.clock.at)
    case.change(paused(None))
    case.run(23)
    assert case.state(20) is State.SKIPPED
    case.change(resumed(None))
    assert case.run(25)[: len(fired) + 1] == [*map(float, fired), 50.0]
    assert [case.state(s) for s in fired] == [State.SUCCEEDED] * len(fired)


@pytest.mark.parametrize("seconds", [2, 2_000])
def test_a_pause_of_whatever_length_with_catch_up_all_loses_no_fire(seconds: int) -> None:
    case = Case(catch_up="all")
    case.run(35)
    case.change(paused(None))
    case.run(seconds)
    case.change(resumed(None))
    case.run(600)
    last = (35 + seconds + 600) // 10 * 10
    assert [case.payloads(s) for s in range(10, last + 1, 10)] == [[b"1"]] * (last // 10)


@pytest.mark.parametrize("then", ["repeat", "same timing", "another timing", "pause"])
def test_due_in_a_pause_that_no_poller_saw_when_the_resume_fails_behind_the_row(
    then: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(catch_up="all")
    case.run(12)
    case.change(paused(None))
    case.deliver_alone(20)  # The chain's pointer of before the pause lies beyond the horizon, where nobody drops it.
    assert [case.state(s) for s in (20, 30)] == [State.SKIPPED] * 2
    with monkeypatch.context() as broken, pytest.raises(Unavailable):
        broken.setattr(write, "advance_past_horizon", _refused)
        case.change(resumed(None))
    assert case.stored.state is JobState.ACTIVE
    if then == "repeat":
        written = write.unchanged(case.clockwork.world, case.stored)
        assert [one.occurrence.due_at - case.start for one in written.released[:2]] == [20_000, 30_000]
    else:
        case.changed(then)
    case.run(60)
    assert [case.state(s) for s in (20, 30)] == [State.SUCCEEDED] * 2
    assert [len(case.payloads(s)) for s in (20, 30)] == [1, 1]


def test_a_pointer_of_before_a_pause_fires_nothing_twice() -> None:
    case = Case(catch_up="all")
    case.run(12)
    case.change(paused(None))
    case.deliver_alone(20)
    case.change(resumed(None))
    assert case.run(300) == [float(at) for at in range(20, 331, 10)]


def _refused(*_: object, **__: object) -> None:
    raise Unavailable("the queue refuses for now")


@pytest.mark.parametrize("how", ["same timing", "another timing", "pause", "delete"])
def test_not_yet_released_and_due_after_when(how: str) -> None:
    case = Case(every_ms=2_000_000)
    case.run(12)
    case.changed(how)
    fired = case.run(2_100)
    expected = {
        "same timing": [2_000.0],
        "another timing": [15.0 * n for n in range(1, 141)],
        "pause": [],
        "delete": [],
    }
    assert fired == [at for at in expected[how] if 12 < at <= 2_112]
    assert {d.occurrence.payload.body for d in case.clockwork.targets.delivered} <= {b"2"}


@pytest.mark.parametrize("how", ["same timing", "another timing", "pause"])
@pytest.mark.parametrize("catch_up", ["all", "none"])
def test_missed_and_due_before_when(how: str, catch_up: str) -> None:
    case = Case(catch_up=catch_up)
    case.run(12)
    case.clockwork.clock.at += 300_000  # nobody polls beyond 70 s
    case.changed(how)
    case.run(100)
    told = {
        case.start + s * 1000
        for s in range(80, 310, 10)
        for e in case.executions()
        if e.end.skipped is not None and e.end.skipped.from_at <= case.start + s * 1000 <= e.end.skipped.to_at
    }
    fired = {case.start + s * 1000 for s in range(80, 310, 10) if case.payloads(s)}
    assert told | fired == {case.start + s * 1000 for s in range(80, 310, 10)}
    assert not told & fired
    assert (not told) is (catch_up == "all")


def test_due_in_a_pause_of_another_timing_is_told_as_replaced_in_one_stretch() -> None:
    case = Case(catch_up="all", every_ms=1_000_000)
    case.run(12)
    case.change(paused(None))
    case.run(3_100)
    case.changed("another timing")
    case.change(resumed(None))
    assert case.run(40) == [3_120.0, 3_135.0, 3_150.0]
    (told,) = [e.end.skipped for e in case.executions() if e.end.skipped is not None]
    assert (told.count, told.reason) == (3, "replaced by revision 3 in a pause")


def test_a_change_there_and_back_fires_each_instant_once() -> None:
    case = Case()
    case.run(12)
    case.changed("another timing")
    case.change(case.like())
    case.run(100)
    assert [case.payloads(s) for s in range(10, 111, 10)] == [[b"1"], *[[b"2"]] * 10]


def test_a_move_there_and_back_fires_once() -> None:
    case = Case(recurrence=None, at=1_700_000_030_000)
    case.run(12)
    case.change(case.like(recurrence=None, at=1_700_000_040_000))
    case.change(case.like(recurrence=None, at=1_700_000_030_000))
    assert case.run(100) == [30.0]


@pytest.mark.parametrize("to", [5, 60])
def test_a_paused_job_that_fires_once_and_is_moved_fires_at_the_resume(to: int) -> None:
    case = Case(recurrence=None, at=1_700_000_900_000)
    case.run(12)
    case.change(paused(None))
    case.change(case.like(recurrence=None, at=1_700_000_000_000 + to * 1000))
    assert case.run(100) == []
    case.change(resumed(None))
    assert case.run(2) == [float(to)]
    assert case.run(100) == []


def test_a_job_that_fires_once_is_not_lost_when_its_deliverer_reads_the_pause_and_decides_behind_the_resume(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = Case(recurrence=None, at=1_700_000_030_000)
    case.run(29)
    case.change(paused(None))
    jobs, get = case.clockwork.jobs, case.clockwork.jobs.get

    def answers_late(refs: Sequence[tuple[str, str]]) -> object:
        rows = get(refs)
        if case.state(30) is State.RUNNING:
            monkeypatch.setattr(jobs, "get", get)
            case.change(resumed(None))
        return rows

    monkeypatch.setattr(jobs, "get", answers_late)
    assert case.run(100) == [30.0]
    assert case.state(30) is State.SUCCEEDED


@pytest.mark.parametrize(("most", "fires"), [(8, 8), (3, 5), (None, 9)])
def test_max_fires_counts_since_the_beat_began(most: int | None, fires: int) -> None:
    case = Case(max_fires=5)
    case.run(75)
    case.change(case.like(max_fires=most))
    case.run(40)
    assert len(case.clockwork.targets.delivered) == fires
