"""The audit of named jobs: it finds and repairs a broken chain of fires, and repeats no fire."""

from __future__ import annotations

import dataclasses
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.jobs import Payload
from clockwork.domain.keys import index_of, row_key
from clockwork.domain.named.changes import paused, replaced, resumed
from clockwork.flows.named.repair import check_chain, settle_again
from clockwork.flows.named.trigger import run_now
from clockwork.flows.named.write import Written, change, has_ended
from clockwork.flows.sweep.audit import audit_chains
from clockwork.flows.world import Environment
from clockwork.ports import Refused
from tests.support.named import Named


def test_a_broken_chain_is_repaired_and_a_whole_one_left_alone() -> None:
    named = Named()
    named.run(25)
    assert not check_chain(named.clockwork.world, named.stored)
    _lose_the_pointer(named)
    named.run(100)
    assert check_chain(named.clockwork.world, named.stored)
    assert not check_chain(named.clockwork.world, named.stored)
    assert named.run(40)[-1] == 160.0


def _lose_the_pointer(named: Named) -> None:
    rows = named.clockwork.timeline._rows[named.job.partition_id]
    for key in list(rows):
        if key > row_key(named.clockwork.clock.at, ""):
            named.clockwork.timeline._keys[named.job.partition_id].remove(key)
            del rows[key]


@pytest.mark.parametrize("catch_up", ["all", "latest"])
def test_the_rest_of_a_chain_that_ends_before_the_horizon_is_found_though_no_pointer_tells_of_it(catch_up: str) -> None:
    named = _with_lost_releases(max_fires=6, catch_up=catch_up)
    named.run(100)
    assert not check_chain(named.clockwork.world, named.stored), "its releases may be under way"
    named.run(301)
    assert check_chain(named.clockwork.world, named.stored)
    named.run(60)
    assert next((e.due_at - named.start) / 1000 for e in named.executions() if e.skipped is None) == 60.0
    assert sum(1 if e.skipped is None else e.skipped.count for e in named.executions()) == 6
    assert not check_chain(named.clockwork.world, named.stored)


def test_the_rest_of_a_chain_is_not_looked_for_again_once_a_stretch_of_skipped_fires_tells_of_it() -> None:
    named = _with_lost_releases(max_fires=6, catch_up="none")
    named.run(401)
    assert check_chain(named.clockwork.world, named.stored)
    assert [e.skipped and e.skipped.count for e in named.executions()] == [6]
    assert not check_chain(named.clockwork.world, named.stored)


def _with_lost_releases(**definition: Any) -> Named:
    """A job whose chain ends before the horizon, as a call leaves it that dies between its row and its releases."""
    named = Named()
    named.run(5)
    named.job = named.create("late", **definition).job
    named.clockwork.queue.messages.clear()
    return named


def test_a_row_of_version_0_1_0_at_level_none_fires_on_recorded() -> None:
    named = Named(record="none")
    assert named.stored.definition.record == "none"
    assert named.run(25) == [10.0, 20.0]
    assert [e.state for e in named.executions()] == [State.SUCCEEDED] * 2


def test_a_one_shot_of_version_0_1_0_that_fired_without_a_record_does_not_fire_again() -> None:
    named = Named(recurrence=None, at=1_700_000_030_000, record="none")
    assert named.run(400) == [30.0]
    named.clockwork.executions._records.clear()
    assert not check_chain(named.clockwork.world, named.stored)
    assert named.run(100) == []


def test_a_chain_of_version_0_1_0_that_lost_its_pointer_repeats_nothing_that_it_fired_without_a_record() -> None:
    named = Named(catch_up="all", record="none")
    fired = named.run(3_600)
    named.clockwork.executions._records.clear()
    _lose_the_pointer(named)
    named.run(100)  # what was released already
    named.clockwork.executions._records.clear()
    assert check_chain(named.clockwork.world, named.stored)
    again = named.run(100)
    assert again
    assert again[0] > fired[-1] + 90.0


def _forget_the_past(named: Named, days: int) -> None:
    """Let days go by, and drop the rows and records whose time to live (TTL) is over."""
    named.clockwork.clock.at += days * 86_400_000
    named.clockwork.timeline.expire(named.clockwork.clock.at)
    for place, record in list(named.clockwork.executions._records.items()):
        if record.expires_at <= named.clockwork.clock.at:
            del named.clockwork.executions._records[place]


@pytest.mark.parametrize("retention_days", [None, 1])
def test_a_one_shot_whose_record_is_gone_does_not_fire_again(retention_days: int | None) -> None:
    named = Named(recurrence=None, at=1_700_000_030_000, retention_days=retention_days)
    assert named.run(300) == [30.0]
    _forget_the_past(named, 31)
    assert not check_chain(named.clockwork.world, named.stored)
    assert named.run(100) == []


def test_a_one_shot_whose_record_is_gone_has_ended() -> None:
    named = Named(recurrence=None, at=1_700_000_030_000)
    assert not has_ended(named.clockwork.world, named.stored)
    named.run(300)
    assert has_ended(named.clockwork.world, named.stored)
    _forget_the_past(named, 31)
    assert has_ended(named.clockwork.world, named.stored)


def test_a_chain_that_is_repaired_repeats_nothing_of_which_the_record_is_gone() -> None:
    day_ms = 86_400_000
    named = Named(every_ms=day_ms, catch_up="all", catch_up_window_seconds=31_536_000, retention_days=20)
    named.clockwork.run_until(named.start + 3 * day_ms + 1_000)
    rows = named.clockwork.timeline._rows[named.job.partition_id]
    named.clockwork.timeline.forget(named.job.partition_id, list(rows))
    _forget_the_past(named, 30)
    named.clockwork.poll_all()
    assert check_chain(named.clockwork.world, named.stored)
    assert named.run(100) == [day * 86_400.0 for day in range(14, 34)]


def test_every_job_is_audited_each_day_wherever_in_its_minute_a_sweep_falls() -> None:
    named = Named()
    sweep_ms = named.clockwork.settings.sweep_seconds * 1000
    audited = 0
    for number in range(86_400_000 // sweep_ms):
        # Two sweeps may be up to two periods apart.
        named.clockwork.clock.at = named.start + number * sweep_ms + (number % 2) * (sweep_ms - 1)
        audited += audit_chains(named.clockwork.world, named.clockwork.clock.at + 60_000).audited
    assert audited >= 1


def test_a_repair_that_released_nothing_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named()
    named.run(61)
    timeline, partition_id = named.clockwork.timeline, named.job.partition_id
    timeline.forget(partition_id, list(timeline._rows[partition_id]))
    named.clockwork.queue.messages.clear()
    with monkeypatch.context() as full, pytest.raises(Unavailable):
        full.setattr(
            named.clockwork.world.releases,
            "send",
            lambda releases, now: [Refused(index, False, "full") for index in range(len(releases))],
        )
        check_chain(named.clockwork.world, named.job)
    assert check_chain(named.clockwork.world, named.job)
    assert named.run(100)[-9:] == [float(s) for s in range(80, 170, 10)]


def test_a_one_shot_whose_change_died_before_its_release_is_found_by_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(recurrence=None, at=1_700_003_600_000)
    named.run(61)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    soon = named.definition(recurrence=None, at=named.clockwork.clock.at + 5_000)
    with monkeypatch.context() as broken:
        broken.setattr(named.clockwork.queue, "send", die)
        with pytest.raises(KeyboardInterrupt):
            named.change(replaced(soon, b"2"))
    assert named.run(200) == []
    assert not check_chain(named.clockwork.world, named.stored)
    assert named.run(200) == []
    assert check_chain(named.clockwork.world, named.stored)
    assert named.run(5) == [66.0]


@pytest.mark.parametrize("audited_after_s", [30, 800])
def test_a_change_that_died_behind_its_row_is_done_by_the_audit_from_its_beginning(
    monkeypatch: pytest.MonkeyPatch, audited_after_s: int
) -> None:
    named = Named()
    named.run(5)
    changed = named.definition(every_ms=20_000, catch_up="all")
    save = named.clockwork.jobs.save

    def save_and_die(*args: Any) -> bool:
        save(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(named.clockwork.jobs, "save", save_and_die)
        named.change(replaced(changed, b"2"))
    # What the old schedule had released at instants that the new one has, too, goes on.
    released_before = [float(s) for s in range(20, min(audited_after_s, 65), 20)]
    assert named.run(audited_after_s) == released_before
    assert check_chain(named.clockwork.world, named.stored)
    assert released_before + named.run(60) == [float(s) for s in range(20, 5 + audited_after_s + 60, 20)]


def _resume_and_die(named: Named, monkeypatch: pytest.MonkeyPatch) -> None:
    """Resumes the job with a call that dies behind its row, before anything is released."""
    save = named.clockwork.jobs.save

    def save_and_die(*args: Any) -> bool:
        save(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(named.clockwork.jobs, "save", save_and_die)
        named.change(resumed(None))


def _missed_in_a_pause(monkeypatch: pytest.MonkeyPatch) -> Named:
    """A one-shot that a pause ended at its instant, and whose resume died behind its row."""
    named = Named(recurrence=None, at=1_700_000_030_000)
    named.run(5)
    named.change(paused(None))
    assert named.run(60) == []
    assert [one.state for one in named.executions()] == [State.SKIPPED]
    _resume_and_die(named, monkeypatch)
    return named


def test_a_one_shot_that_its_pause_ended_is_found_by_the_audit_if_the_resume_died(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = _missed_in_a_pause(monkeypatch)
    assert named.run(400) == []
    assert check_chain(named.clockwork.world, named.stored)
    assert named.run(5) == [30.0]
    assert not check_chain(named.clockwork.world, named.stored)
    assert [one.state for one in named.executions()] == [State.SUCCEEDED]


def test_a_one_shot_that_its_pause_ended_fires_when_the_resume_that_died_is_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = _missed_in_a_pause(monkeypatch)
    named.change(resumed(None))
    assert named.run(5) == [30.0]
    named.change(resumed(None))
    assert named.run(60) == []


def test_a_one_shot_that_was_run_by_hand_meanwhile_is_still_found_by_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    named = _missed_in_a_pause(monkeypatch)
    run_now(named.clockwork.world, named.stored, "by hand")
    assert len(named.run(400)) == 1
    assert check_chain(named.clockwork.world, named.stored)
    assert named.run(5) == [30.0]


def test_a_defect_of_one_chain_is_told_with_its_job(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    named = Named()
    scan = named.clockwork.jobs.scan
    monkeypatch.setattr(named.clockwork.jobs, "scan", lambda _part, _parts: scan(0, 1))

    def raising(*_: object) -> int:
        raise ValueError("never show this")

    monkeypatch.setattr("clockwork.flows.sweep.audit.check_chain", raising)
    assert audit_chains(named.clockwork.world, named.clockwork.clock.at + 60_000).left == 1
    told = {one.__dict__["action"]: one.__dict__ for one in caplog.records}
    assert told["fault_contained"]["about"] == "acme/tick"
    assert (told["unreadable_job"]["clientId"], told["unreadable_job"]["jobKey"]) == ("acme", "tick")


def _shrunk(named: Named, payload: bytes) -> Written:
    """Changes the payload of the job, whose shard is given up: the job moves to another one."""
    world = named.clockwork.world
    fewer = world.settings.with_(shards=index_of(named.stored.partition_id))
    definition = msgspec.structs.replace(named.stored.definition, payload=Payload(payload))
    written = change(
        dataclasses.replace(world, settings=fewer, environment=Environment()),
        named.stored,
        None,
        replaced(definition, b'"z"'),
    )
    assert written.job.partition_id != named.job.partition_id
    return written


def _in_the_last_shard(named: Named, at: int) -> None:
    """Draws jobs until one is in a shard behind the first."""
    for number in range(100):
        named.job = named.create(key=f"job-{number}", recurrence=None, at=at).job
        if index_of(named.job.partition_id) > 0:
            return
    raise AssertionError("all were drawn in the first shard")


@pytest.mark.parametrize("days", [20, 40], ids=["while it is recorded", "long after its record has expired"])
def test_a_one_shot_that_moves_to_another_shard_once_it_has_fired_does_not_fire_again(days: int) -> None:
    named = Named(recurrence=None, at=1_700_000_030_000)
    _in_the_last_shard(named, 1_700_000_030_000)
    named.run(300)
    delivered = len(named.clockwork.targets.delivered)
    mine = [one for one in named.clockwork.targets.delivered if one.job_id == named.job.job_id]
    assert len(mine) == 1
    _forget_the_past(named, days)
    written = _shrunk(named, b"2")
    assert written.released == ()
    for _ in range(3):
        _forget_the_past(named, 14)
        assert not check_chain(named.clockwork.world, named.stored)
        settle_again(named.clockwork.world, named.stored)
    assert not named.clockwork.queue.messages
    assert len(named.clockwork.targets.delivered) == delivered


def test_a_one_shot_that_is_moved_away_and_back_does_not_fire_twice() -> None:
    named = Named(recurrence=None, at=1_700_000_030_000)
    assert named.run(300) == [30.0]
    away = named.definition(recurrence=None, at=named.clockwork.clock.at + 86_400_000)
    named.change(replaced(away, b'"away"'))
    named.change(replaced(named.definition(recurrence=None, at=1_700_000_030_000), b'"back"'))
    assert has_ended(named.clockwork.world, named.stored)
    _forget_the_past(named, 31)
    assert not check_chain(named.clockwork.world, named.stored)
    assert named.run(100) == []


def test_a_one_shot_that_is_moved_away_and_back_before_it_has_fired_fires() -> None:
    named = Named(recurrence=None, at=1_700_000_030_000)
    away = named.definition(recurrence=None, at=named.clockwork.clock.at + 86_400_000)
    named.change(replaced(away, b'"away"'))
    assert named.run(60) == []
    named.change(replaced(named.definition(recurrence=None, at=1_700_000_030_000), b'"back"'))
    assert named.run(60) == [30.0]
