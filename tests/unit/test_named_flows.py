"""Named jobs: one definition, one chain of fires, and changes after which nothing old starts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.backfills import plan_backfill
from clockwork.domain.chains import expand, first_pointer, is_missed, pointer_row
from clockwork.domain.codec import decode_job, encode_job
from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.errors import JobNotFound, NameTaken, NotNamed, RevisionConflict, Unavailable
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.ids import AnonymousJob, ExecutionId, decode_execution
from clockwork.domain.jobs import Payload, RetryPolicy
from clockwork.domain.keys import END, edge_key, row_key
from clockwork.domain.named import Definition, JobState, NamedJob, Pointer, occurrence_of, versioned
from clockwork.domain.recurrence import Every, Fire, Recurrence
from clockwork.domain.releases import Delivery, Release
from clockwork.domain.timeline import Row
from clockwork.flows.advance import visit_rows
from clockwork.flows.audit import audit_chains
from clockwork.flows.authorise import Caller
from clockwork.flows.chain import check_chain
from clockwork.flows.control import backfill, run_now
from clockwork.flows.create import create_jobs
from clockwork.flows.find import get_named
from clockwork.flows.named import (
    NamedRequest,
    Written,
    cancelled,
    change,
    create_named,
    has_ended,
    paused,
    replaced,
    resumed,
)
from clockwork.flows.registry import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Refused
from tests.examples import ACME, ALICE, TARGET, failure, new_job, request

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))


class Named:
    """A Clockwork in memory with one named job in it."""

    def __init__(self, **definition: Any) -> None:
        self.clockwork = MemoryClockwork()
        self.start = self.clockwork.clock.at
        self.job = self.create(**definition).job

    def definition(self, every_ms: int = 10_000, **changes: Any) -> Definition:
        every = Recurrence(every=Every(every_ms, self.start), max_fires=changes.pop("max_fires", None))
        values = {"target": TARGET, "payload": Payload(b"1"), "record": "full", "recurrence": every, **changes}
        return Definition(**values)

    def create(self, key: str = "tick", sent: str = "x", **definition: Any) -> Written:
        wanted = self.definition(**definition)
        wish = NamedRequest(client=ACME, job_key=key, as_sent=json.dumps(sent).encode(), definition=wanted)
        return create_named(self.clockwork.world, wish, ensure_shards(self.clockwork.world))

    def change(self, changed: Any, revision: int | None = None) -> Written:
        written = change(self.clockwork.world, self.stored, revision, changed)
        self.job = written.job
        return written

    @property
    def stored(self) -> NamedJob:
        return get_named(self.clockwork.world, MINE, self.job.job_id)

    def run(self, seconds: float) -> list[float]:
        """Let time pass; the seconds since the start at which occurrences were due that were delivered meanwhile."""
        before = len(self.clockwork.targets.delivered)
        self.clockwork.run_until(self.clockwork.clock.at + int(seconds * 1000))
        return [(d.occurrence.due_at - self.start) / 1000 for d in self.clockwork.targets.delivered[before:]]

    def executions(self) -> Sequence[Execution]:
        return self.clockwork.world.executions.list(self.job.job_id, 100, None)


def test_a_recurring_job_fires_at_each_instant_once() -> None:
    named = Named()
    assert named.run(305) == [float(s) for s in range(10, 310, 10)]
    assert {e.state for e in named.executions()} == {State.SUCCEEDED}


def test_a_job_created_behind_the_horizon_misses_nothing() -> None:
    named = Named()
    named.run(61)
    late = named.create(key="late", every_ms=1_000)
    assert len(late.released) > 0
    seen = [s for s in named.run(200) if s % 10]
    assert seen == [float(s) for s in range(62, 261) if s % 10]


def test_a_one_shot_with_a_name_fires_once() -> None:
    named = Named(recurrence=None, at=1_700_000_030_000)
    assert named.run(300) == [30.0]
    assert first_pointer(named.stored) is not None


@pytest.mark.parametrize("max_fires", [1, 7])
def test_a_schedule_ends_after_so_many_fires(max_fires: int) -> None:
    named = Named(max_fires=max_fires)
    assert len(named.run(300)) == max_fires


def test_a_cron_job_fires_by_its_expression() -> None:
    named = Named(recurrence=Recurrence(cron=compile_cron("*/2 * * * *")))
    due = named.run(600)
    assert [(named.start // 1000 + s) % 120 for s in due] == [0.0] * 5


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


def test_nothing_of_a_deleted_job_starts_after_the_answer() -> None:
    named = Named()
    named.run(35)
    assert named.clockwork.queue.messages
    assert not named.change(cancelled("no more")).running
    assert named.run(300) == []
    assert {e.state for e in named.executions()} == {State.SUCCEEDED, State.CANCELLED}


def test_a_pause_stops_it_and_a_resume_loses_no_later_occurrence() -> None:
    named = Named()
    assert named.run(25) == [10.0, 20.0]
    named.change(paused("maintenance"))
    assert named.run(20) == []
    named.change(resumed(None))
    assert named.run(30) == [40.0, 50.0, 60.0, 70.0]
    assert named.stored.state is JobState.ACTIVE


@pytest.mark.parametrize(
    ("catch_up", "delivered", "skipped"),
    [("all", [40.0, 50.0, 60.0, 70.0], []), ("latest", [60.0, 70.0], [2]), ("none", [70.0], [3])],
)
def test_what_was_due_in_a_pause_is_caught_up_as_the_policy_says(
    catch_up: str, delivered: list[float], skipped: list[int]
) -> None:
    named = Named(catch_up=catch_up)
    named.run(35)
    named.change(paused(None))
    named.run(30)
    named.change(resumed(None))
    assert named.run(10) == delivered
    records = [e.skipped for e in named.executions() if e.skipped is not None]
    assert [record.count for record in records] == skipped


@pytest.mark.parametrize(("catch_up", "count"), [("all", 30), ("latest", 1), ("none", 0)])
def test_what_an_outage_missed_is_caught_up_as_the_policy_says(catch_up: str, count: int) -> None:
    named = Named(catch_up=catch_up)
    named.clockwork.clock.advance(305_000)
    late = [s for s in named.run(1) if s < 305 - 60]
    assert len(late) == max(0, count - 6) if catch_up == "all" else len(late) == count
    missed = [e.skipped.count for e in named.executions() if e.skipped is not None]
    assert sum(missed) + len(late) == 24


def test_a_window_bounds_what_is_caught_up() -> None:
    named = Named(catch_up="all", catch_up_window_seconds=100)
    named.clockwork.clock.advance(305_000)
    assert min(named.run(1)) == 210.0


def test_a_long_outage_of_a_fast_job_is_one_short_visit() -> None:
    named = Named(every_ms=1_000, catch_up="none")
    named.clockwork.clock.advance(100_000_000)
    reports = named.clockwork.poll_all()
    assert sum(report.skipped for report in reports) == 99_939
    assert named.run(0) == []
    assert len(named.run(1)) <= 71


def test_a_fast_job_is_expanded_in_visits_of_500() -> None:
    named = Named(every_ms=100)
    due = named.run(65.05)
    assert due == [i / 10 for i in range(1, len(due) + 1)]
    assert len(due) >= 650


def test_a_change_keeps_the_phase_and_the_count_if_the_schedule_is_the_same() -> None:
    named = Named(max_fires=5)
    named.run(25)
    named.change(replaced(named.definition(payload=Payload(b"2"), max_fires=5), b'"y"', same_schedule=True))
    assert named.run(100) == [30.0, 40.0, 50.0]
    assert [d.occurrence.payload.body for d in named.clockwork.targets.delivered] == [b"1"] * 2 + [b"2"] * 3


def test_a_change_of_the_schedule_starts_anew_and_mixes_nothing() -> None:
    named = Named()
    named.run(25)
    named.change(replaced(named.definition(every_ms=15_000, payload=Payload(b"2")), b'"y"', same_schedule=False))
    assert named.run(40) == [30.0, 45.0, 60.0]
    assert {d.occurrence.payload.body for d in named.clockwork.targets.delivered[2:]} == {b"2"}


def test_a_change_during_a_pause_forgets_nothing_that_was_due_in_it() -> None:
    named = Named(catch_up="all")
    named.run(25)
    named.change(paused(None))
    named.run(20)
    named.change(replaced(named.definition(payload=Payload(b"2"), catch_up="all"), b'"y"', same_schedule=True))
    named.run(20)
    named.change(resumed(None))
    assert named.run(11) == [30.0, 40.0, 50.0, 60.0, 70.0]


def test_a_change_between_a_fire_and_its_jitter_loses_no_fire() -> None:
    jittered = Recurrence(every=Every(100_000, 1_700_000_000_000), jitter_seconds=99)
    named = Named(recurrence=jittered)
    pointer = first_pointer(named.job)
    assert pointer is not None
    assert pointer.fire.due_at > pointer.fire.base_at + 1_000
    named.run((pointer.fire.base_at - named.start) / 1000 + 0.5)
    named.change(replaced(named.definition(recurrence=jittered, payload=Payload(b"2")), b'"y"', same_schedule=True))
    assert named.run(100)[0] == (pointer.fire.due_at - named.start) / 1000


def test_a_change_of_a_stale_revision_is_refused_with_both() -> None:
    named = Named()
    named.change(paused(None))
    with pytest.raises(RevisionConflict, match="revision 2, the request is for revision 1"):
        named.change(resumed(None), revision=1)


def test_a_lost_race_between_changes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named()
    stored = named.stored
    named.change(paused(None))
    with pytest.raises(RevisionConflict, match="changed meanwhile"):
        change(named.clockwork.world, stored, None, cancelled(None))


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
    named.clockwork.executions.save([(None, one) for one in ended])
    assert named.change(cancelled(None)).may_be_under_way


def execution_of(job: NamedJob, due_at: int, state: State) -> Execution:
    return Execution(
        job_id=job.job_id,
        execution_id=str(ExecutionId(job.job_id, due_at, "earlier")),
        client_id="acme",
        due_at=due_at,
        state=state,
        revision=1,
        expires_at=due_at * 2,
    )


def test_pending_retries_of_a_replaced_version_do_not_start() -> None:
    policy = RetryPolicy(backoff="fixed", initial_seconds=60, jitter="none")
    named = Named(every_ms=1_000_000, retry_policy=policy)
    named.clockwork.targets._answer = lambda d: failure(started_at=named.clockwork.clock.now())
    named.run(1_001)
    named.clockwork.targets._answer = named.clockwork.targets._succeed
    named.change(replaced(named.definition(every_ms=1_000_000, payload=Payload(b"2")), b'"y"', same_schedule=True))
    assert named.run(200) == []
    assert named.executions()[-1].state is State.CANCELLED


def test_a_create_and_its_repeat_leave_nothing_of_an_earlier_version_under_way() -> None:
    named = Named()
    for written in (named.create(key="another"), named.create()):
        assert not written.may_be_under_way
        assert not written.running


def test_at_level_none_a_delete_says_whether_something_may_be_under_way() -> None:
    named = Named(record="none", every_ms=500_000)
    assert not named.change(cancelled(None)).may_be_under_way
    named = Named(record="none")
    named.run(20)
    assert named.change(cancelled(None)).may_be_under_way


def test_run_now_leaves_the_schedule_alone_and_works_while_paused() -> None:
    named = Named()
    named.run(5)
    named.change(paused(None))
    first = run_now(named.clockwork.world, named.stored, "key")
    assert run_now(named.clockwork.world, named.stored, "key") == first
    assert named.run(30) == [5.0]
    assert decode_execution(first).run.startswith("r")
    named.change(cancelled(None))
    assert named.run(30) == []


def test_a_run_of_a_job_that_is_deleted_meanwhile_does_not_start() -> None:
    named = Named()
    run_now(named.clockwork.world, named.stored, None)
    named.change(cancelled(None))
    assert named.run(30) == []


def test_a_backfill_fires_a_past_range_at_its_rate_beside_the_live_fires() -> None:
    named = Named()
    named.run(101)
    planned = backfill(named.clockwork.world, named.stored, named.start, named.start + 95_000, 0.5, "key")
    assert planned.count == 10
    again = backfill(named.clockwork.world, named.stored, named.start, named.start + 95_000, 0.5, "key")
    assert again.backfill_id == planned.backfill_id
    due = named.run(60)
    live = [float(s) for s in range(110, 170, 10)]
    assert sorted(due) == sorted([0.0, *[float(s) for s in range(10, 100, 10)], *live])
    runs = [d for d in named.clockwork.targets.delivered if planned.backfill_id in d.execution_id]
    assert len(runs) == 10


def test_a_backfill_survives_a_pause_and_ends_with_its_definition() -> None:
    named = Named()
    named.run(101)
    backfill(named.clockwork.world, named.stored, named.start, named.start + 95_000, 0.2, "key")
    named.run(11)
    named.change(paused(None))
    assert len(named.run(10)) == 2
    changed_at = named.clockwork.clock.at
    named.change(replaced(named.definition(payload=Payload(b"2")), b'"y"', same_schedule=True))
    assert named.run(100) == []
    assert changed_at < named.clockwork.clock.at


def test_a_run_by_hand_of_a_definition_that_is_replaced_does_not_start() -> None:
    named = Named()
    run_now(named.clockwork.world, named.stored, None)
    named.change(replaced(named.definition(payload=Payload(b"2")), b'"y"', same_schedule=True))
    assert named.run(5) == []


def test_what_a_change_keeps_from_starting_is_told_at_record_level_none_too() -> None:
    named = Named(record="none")
    named.run(25)
    named.change(cancelled(None))
    assert named.run(100) == []
    ended = {(e.state, e.reason) for e in named.executions()}
    assert ended == {(State.CANCELLED, "its job was deleted")}


def test_overlapping_executions_are_skipped_if_the_job_says_so() -> None:
    policy = RetryPolicy(backoff="fixed", initial_seconds=25, jitter="none")
    named = Named(overlap="skip", retry_policy=policy)
    answers = iter([failure(started_at=named.start)])
    succeed = named.clockwork.targets._succeed
    named.clockwork.targets._answer = lambda d: next(answers, None) or succeed(d)
    named.run(65)
    states = {(e.due_at - named.start) // 1000: e.state for e in named.executions()}
    assert states == {
        10: State.SUCCEEDED,
        20: State.SKIPPED,
        30: State.SKIPPED,
        40: State.SUCCEEDED,
        50: State.SUCCEEDED,
        60: State.SUCCEEDED,
    }


def test_a_broken_chain_is_repaired_and_a_whole_one_left_alone() -> None:
    named = Named()
    named.run(25)
    assert not check_chain(named.clockwork.world, named.stored)
    rows = named.clockwork.timeline._rows[named.job.partition_id]
    for key in list(rows):
        if key > row_key(named.clockwork.clock.at, ""):
            named.clockwork.timeline._keys[named.job.partition_id].remove(key)
            del rows[key]
    named.run(100)
    assert check_chain(named.clockwork.world, named.stored)
    assert not check_chain(named.clockwork.world, named.stored)
    assert named.run(40)[-1] == 160.0


def _forget_the_past(named: Named, days: int) -> None:
    """Let days go by, and TTL take what has expired."""
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
    named = Named(every_ms=day_ms, catch_up="all", catch_up_window_seconds=31_536_000, retention_days=3)
    named.clockwork.run_until(named.start + 3 * day_ms + 1_000)
    rows = named.clockwork.timeline._rows[named.job.partition_id]
    named.clockwork.timeline.forget(named.job.partition_id, list(rows))
    _forget_the_past(named, 10)
    named.clockwork.poll_all()
    assert check_chain(named.clockwork.world, named.stored)
    assert named.run(100) == [day * 86_400.0 for day in (11, 12, 13)]


def test_every_job_is_audited_each_day_wherever_in_its_minute_a_sweep_falls() -> None:
    named = Named()
    sweep_ms = named.clockwork.settings.sweep_seconds * 1000
    audited = 0
    for number in range(86_400_000 // sweep_ms):
        # Two sweeps are up to two periods apart.
        named.clockwork.clock.at = named.start + number * sweep_ms + (number % 2) * (sweep_ms - 1)
        audited += audit_chains(named.clockwork.world, named.clockwork.clock.at + 60_000).audited
    assert audited >= 1


def test_what_is_skipped_is_told_whole_though_the_queue_took_nothing_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(catch_up="none", max_fires=12)
    named.clockwork.clock.at += 150_500
    with monkeypatch.context() as full:
        full.setattr(
            named.clockwork.world.releases,
            "send",
            lambda releases, now: [Refused(index, False, "full") for index in range(len(releases))],
        )
        named.clockwork.poll_all()
    named.clockwork.clock.at += 20_000
    fired = named.run(60)
    skipped = [record.skipped for record in named.executions() if record.skipped is not None]
    assert len(fired) + sum(stretch.count for stretch in skipped) == 12


def test_a_backfill_up_to_now_delivers_no_fire_before_its_jitter_has_it_due() -> None:
    every = Recurrence(every=Every(10_000, 1_700_000_000_000), jitter_seconds=9)
    named = Named(recurrence=every)
    start = named.start
    for now in range(start + 100_000, start + 400_000, 1_000):
        planned = plan_backfill(named.job, f"b{now}", start, now, 1_000.0, now)
        assert planned.pointer is not None
        releases = expand(named.job, planned.pointer, END, now, 1_000).releases
        assert all(release.run_at >= release.occurrence.due_at for release in releases)


def test_what_was_sent_before_a_crash_is_not_skipped_and_the_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(catch_up="none", max_fires=12)
    send = named.clockwork.world.releases.send

    def die_after_three(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        send(releases[:3], now)
        raise RuntimeError("the process dies")

    with monkeypatch.context() as dying, pytest.raises(RuntimeError):
        dying.setattr(named.clockwork.world.releases, "send", die_after_three)
        named.clockwork.poll_all()
    assert named.run(35) == [10, 20, 30]
    named.clockwork.clock.at += 95_000
    fired = named.run(200)
    (skipped,) = [record.skipped for record in named.executions() if record.skipped is not None]
    assert (skipped.from_at - named.start, skipped.count) == (40_000, 12 - 3 - len(fired))


def test_an_ordered_job_without_a_sequence_is_the_first_of_its_instant() -> None:
    named = Named(ordering_key="order-17")
    assert occurrence_of(named.job, named.start).sequence == 0


def test_the_chains_of_a_page_share_what_may_be_taken_at_once() -> None:
    named = Named()
    pointer = first_pointer(named.job)
    assert pointer is not None
    row = pointer_row(named.job, pointer, named.start)
    visited = visit_rows(named.clockwork.world, [row, row], END, 5)
    assert [len(one.releases) for one in visited] == [5, 1]


def test_a_repair_that_released_nothing_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named()
    named.run(61)
    timeline, partition_id = named.clockwork.timeline, named.job.partition_id
    timeline.forget(partition_id, list(timeline._rows[partition_id]))
    named.clockwork.queue.messages.clear()
    with monkeypatch.context() as full, pytest.raises(Unavailable):
        refusing = [Refused(0, False, "full")]
        full.setattr(named.clockwork.world.releases, "send", lambda releases, now: refusing)
        check_chain(named.clockwork.world, named.job)
    assert check_chain(named.clockwork.world, named.job)
    assert named.run(100)[-9:] == [float(s) for s in range(80, 170, 10)]


def test_what_left_no_claim_two_versions_ago_is_still_answered_for_as_long_as_it_may_be_tried() -> None:
    named = Named(record="none", retry_policy=RetryPolicy(max_age_seconds=3_600))
    named.run(61)
    full = named.definition(every_ms=7_000)
    assert named.change(replaced(full, b"full", same_schedule=False)).may_be_under_way
    assert named.change(paused(None)).may_be_under_way
    named.run(3_600 + 900)
    assert named.change(paused("still")).may_be_under_way is False


@pytest.mark.parametrize(("after_ms", "missed"), [(-1, True), (0, True), (1, False)])
def test_what_was_due_up_to_the_end_of_a_pause_was_missed(after_ms: int, missed: bool) -> None:
    named = Named(catch_up="none")
    resumed_at = named.start + 10_000
    job = msgspec.structs.replace(named.job, active_from_at=resumed_at)
    assert is_missed(job, Fire(resumed_at + after_ms, resumed_at + after_ms, 1), resumed_at) is missed


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_so_many_fires_and_no_more_are_taken_at_once(limit: int) -> None:
    named = Named()
    pointer = first_pointer(named.job)
    assert pointer is not None
    step = expand(named.job, pointer, END, named.start, limit)
    assert [(release.run_at - named.start) // 10_000 for release in step.releases] == [*range(1, limit + 1)]
    assert step.is_cut
    assert step.following is not None
    assert step.following.fire.due_at == named.start + 10_000 * (limit + 1)


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
    second = [d for d in named.run(100) and named.clockwork.targets.delivered if "second" in _key(d)]
    assert [(d.occurrence.due_at - named.start) / 1000 for d in second] == [80.0, 100.0, 120.0, 140.0, 160.0]


def test_a_one_shot_whose_change_died_before_its_release_is_found_by_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(recurrence=None, at=1_700_003_600_000)
    named.run(61)

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    soon = named.definition(recurrence=None, at=named.clockwork.clock.at + 5_000)
    with monkeypatch.context() as broken:
        broken.setattr(named.clockwork.shards, "get", die)
        with pytest.raises(KeyboardInterrupt):
            named.change(replaced(soon, b"2", same_schedule=False))
    assert named.run(200) == []
    assert not check_chain(named.clockwork.world, named.stored)
    assert named.run(200) == []
    assert check_chain(named.clockwork.world, named.stored)
    assert named.run(5) == [66.0]


def _key(delivery: Delivery) -> str:
    from clockwork.domain.ids import NamedJobId, decode_job

    place = decode_job(delivery.job_id)
    assert isinstance(place, NamedJobId)
    return place.job_key


def test_an_anonymous_job_cannot_be_changed_and_anothers_is_not_found() -> None:
    named = Named()
    partitions = ensure_shards(named.clockwork.world)
    anonymous = create_jobs(named.clockwork.world, request(new_job()), partitions)[0]
    with pytest.raises(NotNamed):
        get_named(named.clockwork.world, MINE, anonymous.job_id)
    with pytest.raises(JobNotFound):
        get_named(named.clockwork.world, MINE, AnonymousJob("p000", row_key(1, "x"), 0).job_id)
    with pytest.raises(JobNotFound):
        get_named(named.clockwork.world, Caller("bob", client_ids=frozenset({"other"})), named.job.job_id)
    with pytest.raises(JobNotFound):
        get_named(named.clockwork.world, MINE, "nonsense")


def test_a_pointer_counts_only_under_its_jobs_version_and_partition() -> None:
    named = Named()
    pointer = first_pointer(named.job)
    assert pointer is not None
    assert pointer.counts_for(named.job, named.job.partition_id)
    assert not pointer.counts_for(named.job, "p999")
    for other in (
        msgspec.structs.replace(named.job, version="other"),
        msgspec.structs.replace(named.job, state=JobState.PAUSED),
    ):
        assert not pointer.counts_for(other, named.job.partition_id)


def test_pointers_of_two_versions_never_share_a_row() -> None:
    named = Named()
    pointer = first_pointer(named.job)
    assert isinstance(pointer, Pointer)
    assert msgspec.structs.replace(pointer, version="other").key != pointer.key
    assert isinstance(named.clockwork.timeline.find([(named.job.partition_id, pointer.key)])[0], Row)


def test_a_definition_is_the_same_before_and_after_it_was_stored() -> None:
    job = Named(retry_policy=RetryPolicy(max_seconds=60), catch_up_window_seconds=60).job
    stored = decode_job(encode_job(job))
    assert stored.definition_digest == job.definition_digest
    assert versioned(stored).version == versioned(job).version == job.version
