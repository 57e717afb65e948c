"""Fires that a pause of the client holds back: `catchUp` decides about them, as after a pause of the job."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import MOST_PAUSES, Client, Pause, with_pause, without_pause
from clockwork.domain.closings import NEVER_ENDS, Closing
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, State
from clockwork.domain.fires.chains import release_of
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.named.changes import paused, replaced, resumed
from clockwork.domain.recurrence import Fire
from clockwork.domain.storage.codec import decode, encode
from clockwork.domain.storage.rows import releases_of
from clockwork.flows.deaths import bury
from clockwork.flows.named import trigger
from clockwork.flows.requests.clients import pause_client, resume_client
from clockwork.flows.requests.redrive import redrive
from clockwork.flows.sweep.unpark import unpark
from clockwork.targets.message import Payload
from tests.support.examples import ACME, failure
from tests.support.named import Named

REASON = "missed in a pause of its client: catchUp is "


class Paused(Named):
    """A job that fires every 10 s, whose client is paused and resumed."""

    def __init__(self, **definition: Any) -> None:
        super().__init__(**definition)
        self.clockwork.clients.put(ACME)

    def pause(self) -> None:
        pause_client(self.clockwork.world, "acme", None, None)

    def resume(self, seconds: float = 100) -> list[float]:
        """Resume the client, and sweep it as the resume asked for; returns what was delivered afterwards."""
        resume_client(self.clockwork.world, "acme", None)
        assert self.clockwork.invoker.swept[-1] == "acme"
        unpark(self.clockwork.world, self.clockwork.clock.at + 60_000, "acme")
        return self.run(seconds)

    def by_second(self) -> dict[float, Execution]:
        return {(e.due_at - self.start) / 1000: e for e in self.executions()}


@pytest.mark.parametrize(
    ("catch_up", "window", "fired"),
    [
        ("all", 86_400, [20.0, 30.0, 40.0]),
        ("all", 25, [30.0, 40.0]),
        ("latest", 86_400, [40.0]),
        ("latest", 5, []),
        ("none", 86_400, []),
    ],
)
def test_due_in_a_pause_of_its_client_when_it_is_resumed(catch_up: str, window: float, fired: list[float]) -> None:
    case = Paused(catch_up=catch_up, catch_up_window_seconds=window)
    assert case.run(12) == [10.0]
    case.pause()
    assert case.run(34) == []
    assert {at: e.state for at, e in case.by_second().items() if 10 < at <= 40} == dict.fromkeys(
        (20.0, 30.0, 40.0), State.PARKED
    )
    assert sorted(case.resume(45)) == [*fired, 50.0, 60.0, 70.0, 80.0, 90.0]
    kept = case.by_second()
    for at in (20.0, 30.0, 40.0):
        expected = (State.SUCCEEDED, None) if at in fired else (State.SKIPPED, REASON + catch_up)
        assert (kept[at].state, kept[at].reason) == expected


def test_a_resume_starts_the_sweep_at_once_and_nothing_is_parked_again_by_who_knows_late() -> None:
    case = Paused(catch_up="all")
    case.pause()
    case.run(25)
    before = case.clockwork.clock.at
    assert 10.0 in case.resume(15)
    started = [e.attempts[0].started_at for at, e in case.by_second().items() if at in (10.0, 20.0)]
    # Every deliverer knows of the resume by then.
    assert min(started) == before + case.clockwork.settings.client_cache_seconds * 1000


def test_a_sweep_that_cannot_be_started_is_the_next_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Paused(catch_up="all")
    case.pause()
    case.run(12)

    def unavailable(_: str) -> None:
        raise Unavailable("the sweeper was not started")

    monkeypatch.setattr(case.clockwork.invoker, "sweep", unavailable)
    assert not resume_client(case.clockwork.world, "acme", None).paused
    unpark(case.clockwork.world, case.clockwork.clock.at + 60_000)
    assert 10.0 in case.run(30)


def test_a_resume_that_is_repeated_starts_no_second_sweep() -> None:
    case = Paused()
    case.pause()
    for _ in range(3):
        resume_client(case.clockwork.world, "acme", None)
    assert case.clockwork.invoker.swept == ["acme"]


def test_a_sweep_of_one_client_leaves_the_others_alone() -> None:
    case = Paused()
    case.pause()
    case.run(25)
    case.clockwork.clients.put(Client(client_id="other", paused=True))
    case.clockwork.regulation.note_parked("other", case.clockwork.clock.at)
    assert unpark(case.clockwork.world, case.clockwork.clock.at + 60_000, "other").left == 1
    case.clockwork.clients.put(ACME)
    assert unpark(case.clockwork.world, case.clockwork.clock.at + 60_000, "other").released == 0


def test_what_was_started_before_the_pause_goes_on() -> None:
    case = Paused(catch_up="none")
    case.clockwork.targets._answer = lambda _: failure(started_at=case.clockwork.clock.now())
    case.run(12)
    case.pause()
    case.run(30)
    case.clockwork.targets._answer = case.clockwork.targets._succeed
    assert 10.0 in case.resume(60)
    assert case.by_second()[10.0].state is State.SUCCEEDED


def test_runs_by_hand_and_jobs_that_fire_once_are_delivered_after_the_pause() -> None:
    case = Paused(catch_up="none")
    case.pause()
    once = case.create("once", recurrence=None, at=case.start + 15_000).job
    case.run(5)
    trigger.run_now(case.clockwork.world, case.stored, None)
    case.run(15)
    delivered = case.resume(12)
    assert delivered.count(15.0) == 1
    assert 5.0 in delivered
    assert case.clockwork.world.executions.list(once.job_id, 1, None)[0].state is State.SUCCEEDED


def test_a_change_of_the_timing_behind_the_pause_loses_nothing_that_was_held_back() -> None:
    case = Paused(catch_up="latest")
    case.pause()
    case.run(35)
    resume_client(case.clockwork.world, "acme", None)
    case.run(3)
    case.change(replaced(case.definition(every_ms=1_000_000, payload=Payload(b"2")), b'"changed"'))
    unpark(case.clockwork.world, case.clockwork.clock.at + 60_000)
    assert case.run(60) == [10.0, 20.0, 30.0]


def test_a_pause_of_the_job_behind_that_of_its_client_leaves_the_latest_fire_known() -> None:
    case = Paused(catch_up="latest")
    case.pause()
    case.run(35)
    resume_client(case.clockwork.world, "acme", None)
    case.run(7)
    case.change(paused(None))
    case.change(resumed(None))
    unpark(case.clockwork.world, case.clockwork.clock.at + 60_000)
    assert sorted(case.run(16)) == [30.0, 50.0]
    assert {at for at, e in case.by_second().items() if e.state is State.SKIPPED} == {10.0, 20.0}


def test_each_pause_decides_about_its_own_fires() -> None:
    case = Paused(catch_up="latest")
    case.pause()
    case.run(25)
    resume_client(case.clockwork.world, "acme", None)
    case.run(0.5)
    case.pause()
    case.run(25)
    assert sorted(case.resume(12))[:2] == [20.0, 50.0]
    assert {at for at, e in case.by_second().items() if e.state is State.SKIPPED} == {10.0, 30.0, 40.0}


def test_a_client_keeps_its_last_pauses_which_never_overlap() -> None:
    client = ACME
    for number in range(2 * MOST_PAUSES):
        client = with_pause(client, None, 10_000 - 100 * number)  # a clock that is late
        assert with_pause(client, "again", 10**9).paused_at == client.paused_at
        client = without_pause(client, 10_000 - 100 * number + 50)
    assert len(client.pauses) == MOST_PAUSES
    assert all(one.began_at <= one.ended_at for one in client.pauses)
    assert all(one.ended_at <= other.began_at for one, other in zip(client.pauses, client.pauses[1:], strict=False))
    assert decode(encode(client), Client) == client


def test_a_pause_of_a_row_that_does_not_say_when_it_began_holds_nothing_back_for_good() -> None:
    assert without_pause(Client(client_id="acme", paused=True), 5).pauses == ()
    assert without_pause(Client(client_id="acme", paused=True, paused_at=3), 5).pauses == (Pause(3, 5),)


def _died_in_a_pause(case: Paused) -> Execution:
    """The fire at 20 s, which was parked in the pause of its client and died there without an attempt."""
    case.run(12)
    case.pause()
    case.run(14)
    parked = case.by_second()[20.0]
    due_at = parked.due_at
    dead = bury(case.clockwork.world, release_of(case.stored, Fire(due_at, due_at, 0)), parked, "it waited too long")
    assert dead is not None
    return dead


@pytest.mark.parametrize("catch_up", ["latest", "none"])
def test_what_died_in_a_pause_of_its_client_and_is_redriven_behind_it_is_delivered(catch_up: str) -> None:
    case = Paused(catch_up=catch_up)
    dead = _died_in_a_pause(case)
    case.run(20)
    case.resume(60)
    assert redrive(case.clockwork.world, case.by_second()[20.0]).state is State.PENDING
    assert 20.0 in case.run(30)
    assert (dead.state, case.by_second()[20.0].state) == (State.DEAD, State.SUCCEEDED)


def test_what_is_redriven_in_a_later_pause_of_its_client_waits_for_its_end() -> None:
    case = Paused(catch_up="none")
    _died_in_a_pause(case)
    case.run(20)
    case.resume(60)
    case.pause()
    case.run(5)
    redrive(case.clockwork.world, case.by_second()[20.0])
    assert case.run(30) == []
    assert case.by_second()[20.0].state is State.PARKED
    assert 20.0 in case.resume(60)


def test_two_revisions_of_a_fire_that_is_parked_have_a_row_each_since_a_change_may_end_the_older_one() -> None:
    case = Paused(catch_up="latest")
    case.run(12)
    case.pause()
    case.run(12)
    (first,) = case.clockwork.timeline.read(parking_of("acme"), "", "~", 10).rows
    (older,) = releases_of(first)
    newer = older.of_its(revision=2)
    # A change of the job wants the same fire by its own revision.
    assert not case.clockwork.world.releases.send([newer, older], case.clockwork.clock.at)
    case.run(1)
    rows = case.clockwork.timeline.read(parking_of("acme"), "", "~", 10).rows
    assert sorted(one.revision or 0 for row in rows for one in releases_of(row)) == [1, 2]
    closing = Closing(2, 0, NEVER_ENDS, State.SKIPPED, "replaced by revision 2")
    before = case.stored
    after = msgspec.structs.replace(
        before, revision=3, closings=(closing,), chain_after_at=older.occurrence.due_at, series="another"
    )
    assert case.clockwork.jobs.save(before, after)
    assert 20.0 in case.resume()


def test_the_job_is_read_behind_its_client_so_catch_up_is_that_of_after_the_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = Paused(catch_up="none")
    case.pause()
    world, get = case.clockwork.world, case.clockwork.jobs.get
    changed: list[str] = []

    def get_slowly(*args: Any) -> Any:
        """The job as it is read, long before the answer comes: its client's pause ends meanwhile, and it is changed."""
        found = get(*args)
        if not changed and case.clockwork.clock.at >= case.start + 10_000:
            changed.append("once")
            case.change(replaced(case.definition(catch_up="all"), b'"y"'))
            resume_client(world, "acme", None)
        return found

    monkeypatch.setattr(case.clockwork.jobs, "get", get_slowly)
    monkeypatch.setattr(case.clockwork.clients, "_cache", {}, raising=False)
    case.run(12)
    unpark(world, case.clockwork.clock.at + 60_000, "acme")
    case.run(100)
    assert changed
    assert case.by_second()[10.0].state is State.SUCCEEDED
