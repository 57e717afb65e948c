"""Creates of named jobs: one definition under a key, repeats of a create, and the executions that an answer lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from clockwork.domain.errors import JobNotFound, NameTaken, Unavailable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.ids import NamedJobId
from clockwork.domain.ids import decode_job as decode_job_id
from clockwork.domain.keys import edge_key
from clockwork.domain.named.changes import cancelled
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.releases import Delivery
from clockwork.flows.access import get_named
from tests.support.named import MINE, Named, execution_of


def test_the_same_definition_is_the_same_job_and_writes_nothing() -> None:
    named = Named()
    again = named.create()
    assert (again.created, again.job) == (False, named.job)
    assert len(named.clockwork.timeline._keys[named.job.partition_id]) == 1


def test_another_definition_under_the_key_is_refused_with_the_differences() -> None:
    named = Named()
    with pytest.raises(NameTaken) as refused:
        named.create(sent="y")
    assert [problem.pointer for problem in refused.value.problems] == [""]


def test_a_deleted_jobs_key_is_a_new_job_and_its_old_id_is_not_found_as_alive() -> None:
    named = Named()
    old = named.job
    named.change(cancelled(None))
    new = named.create(sent="other").job
    assert (new.incarnation, new.job_id == old.job_id) == (2, False)
    with pytest.raises(JobNotFound):
        get_named(named.clockwork.world, MINE, old.job_id)
    named.job = new
    named.run(100)
    assert {d.job_id for d in named.clockwork.targets.delivered} == {new.job_id}


def test_of_two_creates_at_once_one_wins_and_the_losers_pointer_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named()
    save = named.clockwork.jobs.save

    def overtaken(before: NamedJob | None, after: NamedJob) -> bool:
        monkeypatch.setattr(named.clockwork.jobs, "save", save)
        named.create(key="raced", sent="winner", every_ms=20_000)
        return save(before, after)

    monkeypatch.setattr(named.clockwork.jobs, "save", overtaken)
    with pytest.raises(NameTaken):
        named.create(key="raced", sent="loser", every_ms=7_000)
    named.change(cancelled(None))
    assert named.run(101) == [20.0, 40.0, 60.0, 80.0, 100.0]


def test_an_answer_lists_what_is_running(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named()
    listed: list[Execution] = []

    def while_running(delivery: Delivery) -> Outcome:
        listed.extend(named.change(cancelled(None)).running)
        return Outcome(State.SUCCEEDED, named.clockwork.clock.now(), named.clockwork.clock.now())

    named.clockwork.targets._answer = while_running
    assert named.run(60) == [10.0]
    assert [e.state for e in listed] == [State.RUNNING]


def test_of_thousands_of_executions_one_that_still_runs_is_listed_after_few_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = Named()
    now = named.clockwork.clock.at
    running = execution_of(named.job, now - 3_600_000, State.RUNNING)
    ended = [execution_of(named.job, now - second * 1000, State.SUCCEEDED) for second in range(2_500)]
    named.clockwork.executions.save([(None, one) for one in (running, *ended)])
    pages: list[int] = []
    read = named.clockwork.executions.list

    def listing(job_id: str, limit: int, before: str | None) -> Sequence[Execution]:
        pages.append(limit)
        return read(job_id, limit, before)

    monkeypatch.setattr(named.clockwork.executions, "list", listing)
    assert named.change(cancelled(None)).running == [running]
    assert len(pages) == 3


def test_what_was_fired_again_and_runs_is_listed_however_long_ago_it_was_due() -> None:
    named = Named()
    running = execution_of(named.job, named.clockwork.clock.at - 90 * 86_400_000, State.RUNNING)
    named.clockwork.executions.save([(None, running)])
    changed = named.change(cancelled(None))
    assert (changed.running, changed.may_be_under_way) == ([running], False)


def test_behind_many_thousands_of_older_executions_nobody_knows_and_the_answer_says_so() -> None:
    named = Named()
    now = named.clockwork.clock.at
    ended = [execution_of(named.job, now - 20 * 86_400_000 - n * 1000, State.SUCCEEDED) for n in range(10_001)]
    ended[9_999] = running = execution_of(named.job, now - 20 * 86_400_000 - 9_999_000, State.RUNNING)
    named.clockwork.executions.save([(None, one) for one in ended])
    changed = named.change(cancelled(None))
    assert (changed.running, changed.may_be_under_way) == ([running], True)


def test_a_create_and_its_repeat_leave_nothing_of_an_earlier_version_under_way() -> None:
    named = Named()
    for written in (named.create(key="another"), named.create()):
        assert not written.may_be_under_way
        assert not written.running


def test_the_repeat_of_an_ordered_jobs_create_leaves_to_the_poller_what_that_has_yet_to_read() -> None:
    named = Named(ordering_key="order-17")
    world = named.clockwork.world
    named.clockwork.clock.at += 25_000
    now = named.clockwork.clock.at
    assert world.shards.acquire(named.job.partition_id, "dies", now, now + 1_000, edge_key(now)) is not None
    with pytest.raises(Unavailable, match="in order"):
        named.create(ordering_key="order-17")
    assert not named.clockwork.ordered_queue.messages
    named.clockwork.clock.at += 2_000  # the lease ends
    assert named.run(60) == [float(s) for s in range(10, 90, 10)]
    assert not named.create(ordering_key="order-17").created


def test_the_repeat_of_a_create_that_fired_long_since_tells_nothing_and_costs_little(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = Named()
    fired = named.run(3_600)
    saves: list[object] = []
    save = named.clockwork.executions.save

    def counting(changes: Any) -> object:
        saves.append(changes)
        return save(changes)

    monkeypatch.setattr(named.clockwork.executions, "save", counting)
    assert not named.create().created
    assert len(saves) <= 1
    assert named.run(1_000) == [float(at) for at in range(int(fired[-1]) + 10, 4_600, 10)]
    assert all(execution.state is State.SUCCEEDED for execution in named.executions())


@pytest.mark.parametrize(("port", "call"), [("shards", "get"), ("queue", "send")])
def test_a_repeat_releases_what_the_first_call_did_not(monkeypatch: pytest.MonkeyPatch, port: str, call: str) -> None:
    named = Named()
    named.run(61)

    def fails(*_: object) -> None:
        raise Unavailable("throttled")

    with monkeypatch.context() as broken, pytest.raises(Unavailable):
        broken.setattr(getattr(named.clockwork, port), call, fails)
        named.create(key="second", every_ms=100)
    named.create(key="second", every_ms=100)
    named.create(key="second", every_ms=100)
    named.run(100)
    due = [d.occurrence.due_at for d in named.clockwork.targets.delivered if _key(d) == "second"]
    assert due == [*range(named.start + 61_100, named.clockwork.clock.at, 100)]


def test_what_waits_behind_the_first_quarter_of_an_hour_is_not_skipped_by_a_repeat() -> None:
    named = Named(every_ms=600_000, catch_up="none")
    named.run(1_750)
    named.clockwork.poll_all()
    named.clockwork.clock.at = named.start + 1_920_000  # no deliverer has had time for its message
    named.create(every_ms=600_000, catch_up="none")
    assert named.run(10) == [1_800]


def test_a_create_that_died_after_its_row_is_finished_by_its_repeat(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named()
    named.run(61)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(named.clockwork.shards, "get", die)
        with pytest.raises(KeyboardInterrupt):
            named.create(key="second", every_ms=20_000)
    named.create(key="second", every_ms=20_000)
    named.run(100)
    second = [delivery for delivery in named.clockwork.targets.delivered if _key(delivery) == "second"]
    assert [(d.occurrence.due_at - named.start) / 1000 for d in second] == [80.0, 100.0, 120.0, 140.0, 160.0]


def _key(delivery: Delivery) -> str:
    place = decode_job_id(delivery.job_id)
    assert isinstance(place, NamedJobId)
    return place.job_key
