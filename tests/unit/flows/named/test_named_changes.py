"""Changes of named jobs: what is due before goes on by the new definition, what is due after follows the new row."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.errors import JobNotFound, NotNamed, RevisionConflict
from clockwork.domain.executions import DAY_MS, State
from clockwork.domain.fires.chains import first_pointer, release_of
from clockwork.domain.ids import AnonymousJob, NamedJobId
from clockwork.domain.keys import row_key
from clockwork.domain.named.changes import cancelled, has_cancelled_waiting, paused, replaced, resumed
from clockwork.domain.named.look import objection_to
from clockwork.domain.named_jobs import JobState
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.recurrence import Every, Fire, Recurrence
from clockwork.domain.storage.codec import decode_message, encode_message
from clockwork.flows.access import Caller, get_named
from clockwork.flows.named.write import change
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.message import Payload
from tests.support.examples import failure, like, new_job, request
from tests.support.named import MINE, Named, execution_of


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


@pytest.mark.parametrize("cancels", [False, True])
def test_a_second_pause_leaves_the_instant_of_the_first(cancels: bool) -> None:
    named = Named(catch_up="all")
    named.run(25)
    named.change(paused("first"))
    named.run(20)
    twice = named.change(paused("second", cancels=cancels)).job
    assert (twice.paused_at, twice.reason, twice.revision) == (named.start + 25_000, "second", 3)
    assert has_cancelled_waiting(twice) is cancels
    named.change(resumed(None))
    assert named.run(11) == [30.0, 40.0, 50.0]


def test_a_change_keeps_the_phase_and_the_count_if_the_schedule_is_the_same() -> None:
    named = Named(max_fires=5)
    named.run(25)
    named.change(replaced(named.definition(payload=Payload(b"2"), max_fires=5), b'"y"'))
    assert named.run(100) == [30.0, 40.0, 50.0]
    assert [d.occurrence.payload.body for d in named.clockwork.targets.delivered] == [b"1"] * 2 + [b"2"] * 3


def test_a_change_of_the_schedule_starts_anew_and_mixes_nothing() -> None:
    named = Named()
    named.run(25)
    named.change(replaced(named.definition(every_ms=15_000, payload=Payload(b"2")), b'"y"'))
    assert named.run(40) == [30.0, 45.0, 60.0]
    assert {d.occurrence.payload.body for d in named.clockwork.targets.delivered[2:]} == {b"2"}


def test_a_change_during_a_pause_forgets_nothing_that_was_due_in_it() -> None:
    named = Named(catch_up="all")
    named.run(25)
    named.change(paused(None))
    named.run(20)
    named.change(replaced(named.definition(payload=Payload(b"2"), catch_up="all"), b'"y"'))
    named.run(20)
    named.change(resumed(None))
    assert named.run(11) == [30.0, 40.0, 50.0, 60.0, 70.0]


@pytest.mark.parametrize("catch_up", ["all", "latest", "none"])
@pytest.mark.parametrize("is_paused", [False, True])
def test_what_nobody_released_before_a_change_is_caught_up_with_after_it(is_paused: bool, catch_up: str) -> None:
    named = Named(catch_up=catch_up)
    named.run(25)
    named.clockwork.clock.at += 300_000  # nobody polls beyond 70 s
    while (named.clockwork.queue.next_visible_at() or named.clockwork.clock.at + 1) <= named.clockwork.clock.at:
        named.clockwork.deliver_visible()
    if is_paused:
        named.change(paused(None))
    named.change(replaced(named.definition(payload=Payload(b"2"), catch_up=catch_up), b'"y"'))
    if is_paused:
        named.change(resumed(None))
    told = named.run(100)
    # Within the last minute nothing was missed. A pause holds back only what is due after it.
    last = 260.0
    assert told[0] == {"all": 80.0, "latest": last, "none": last + 10}[catch_up]
    for stretch in [e.end.skipped for e in named.executions() if e.end.skipped is not None]:
        told += [(stretch.from_at - named.start) / 1000 + 10.0 * n for n in range(stretch.count)]
    assert sorted(told) == [float(at) for at in range(80, 425, 10)]


@pytest.mark.parametrize("catch_up", ["all", "none"])
def test_what_nobody_released_of_a_schedule_that_is_replaced_is_released_or_told_by_the_old_policy(
    catch_up: str,
) -> None:
    named = Named(catch_up=catch_up)
    named.run(25)
    named.clockwork.clock.at += 300_000  # nobody polls beyond 70 s
    named.change(replaced(named.definition(every_ms=7_000, catch_up="all"), b'"y"'))
    stretches = [e.end.skipped for e in named.executions() if e.end.skipped is not None]
    told = [((one.from_at - named.start) // 1000, (one.to_at - named.start) // 1000, one.count) for one in stretches]
    assert told == ([] if catch_up == "all" else [(80, 260, 19)])
    missed = range(80 if catch_up == "all" else 270, 330, 10)
    assert sorted(named.run(10)) == sorted([*map(float, missed), *map(float, range(30, 80, 10)), 329.0])


@pytest.mark.parametrize("polled", [False, True])
def test_a_pause_a_delete_and_a_change_that_goes_on_skip_nothing(polled: bool) -> None:
    for changed in (paused(None), cancelled(None), replaced(Named().definition(), b'"y"')):
        named = Named(catch_up="all")
        named.run(25)
        if not polled:
            named.clockwork.clock.at += 300_000
        named.change(changed)
        assert not [e for e in named.executions() if e.end.skipped is not None]


def test_a_change_between_a_fire_and_its_jitter_loses_no_fire() -> None:
    jittered = Recurrence(every=Every(100_000, 1_700_000_000_000), jitter_seconds=99)
    named = Named(recurrence=jittered)
    pointer = first_pointer(named.job)
    assert pointer is not None
    assert pointer.fire.due_at > pointer.fire.base_at + 1_000
    named.run((pointer.fire.base_at - named.start) / 1000 + 0.5)
    named.change(replaced(named.definition(recurrence=jittered, payload=Payload(b"2")), b'"y"'))
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


def test_a_retry_that_waits_when_its_job_is_changed_goes_on_by_the_new_definition() -> None:
    policy = RetryPolicy(backoff="fixed", initial_seconds=60, jitter="none")
    named = Named(every_ms=1_000_000, retry_policy=policy)
    named.clockwork.targets._answer = lambda d: failure(started_at=named.clockwork.clock.now())
    named.run(1_001)
    named.clockwork.targets._answer = named.clockwork.targets._succeed
    named.change(replaced(named.definition(every_ms=1_000_000, payload=Payload(b"2")), b'"y"'))
    assert named.run(200) == [1_000.0]
    assert named.clockwork.targets.delivered[-1].occurrence.payload.body == b"2"
    assert named.executions()[-1].state is State.SUCCEEDED


def _as_version_0_1_0_released_at_level_none(named: Named) -> None:
    for message in named.clockwork.queue.messages.values():
        releases = decode_message(message.body)
        unrecorded = [msgspec.structs.replace(one.occurrence, record="none") for one in releases]
        message.body = encode_message(
            [msgspec.structs.replace(one, occurrence=its) for one, its in zip(releases, unrecorded, strict=True)]
        )


def test_what_version_0_1_0_released_at_level_none_is_delivered_all_the_same() -> None:
    named = Named()
    named.run(25)
    _as_version_0_1_0_released_at_level_none(named)
    assert named.run(60) == [30.0, 40.0, 50.0, 60.0, 70.0, 80.0]
    assert {e.due_at - named.start for e in named.executions()} == {10_000, 20_000, 80_000}


def test_what_version_0_1_0_released_at_level_none_does_not_start_after_a_delete_and_is_told() -> None:
    named = Named()
    named.run(25)
    _as_version_0_1_0_released_at_level_none(named)
    named.change(cancelled(None))
    assert named.run(100) == []
    ended = [(e.state, e.reason) for e in named.executions() if e.state is not State.SUCCEEDED]
    assert len(ended) == 5
    assert set(ended) == {(State.CANCELLED, "its job was deleted")}


def test_what_still_runs_of_the_version_before_last_is_listed() -> None:
    named = Named()
    running = like(
        execution_of(named.job, named.start + 10_000, State.RUNNING), claimant="a", claim_until=named.start + 99_000
    )
    named.clockwork.executions.save([(None, running)])
    other = named.definition(every_ms=7_000)
    assert named.change(replaced(other, b"other")).running == [running]
    assert named.change(paused(None)).running == [running]


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


@pytest.mark.parametrize(("catch_up", "is_delivered"), [("all", True), ("none", False)])
def test_a_fire_that_less_jitter_puts_before_the_pause_is_decided_by_the_resume(
    catch_up: str, *, is_delivered: bool
) -> None:
    named = Named()
    jittered = Recurrence(every=Every(100_000, named.start), jitter_seconds=50)
    steady = msgspec.structs.replace(jittered, jitter_seconds=0)
    named.job = named.create("jittered", recurrence=jittered, catch_up=catch_up).job
    first = first_pointer(named.job)
    assert first is not None
    # Paused between the base instant of its first fire and the jittered one.
    named.clockwork.clock.at = (first.fire.base_at + first.fire.due_at) // 2
    named.change(paused(None))
    named.change(replaced(named.definition(recurrence=steady, catch_up=catch_up), b'"steady"'))
    named.run(20)
    named.change(resumed(None))
    named.run(30)
    executions = named.clockwork.world.executions.list(named.job.job_id, 10, None)
    (told,) = [one for one in executions if one.due_at == first.fire.base_at]
    assert told.state is (State.SUCCEEDED if is_delivered else State.SKIPPED)


@pytest.mark.parametrize(
    ("catch_up", "delivered"), [("none", [60.0]), ("latest", [40.0, 60.0]), ("all", [20.0, 40.0, 60.0])]
)
def test_what_was_released_before_a_pause_and_comes_after_the_resume_is_decided_as_the_resume_did(
    catch_up: str, delivered: list[float]
) -> None:
    named = Named(every_ms=20_000, catch_up=catch_up)
    before = named.stored
    named.clockwork.clock.advance(10_000)
    named.change(paused("incident"))
    named.clockwork.clock.advance(40_000)
    named.change(resumed(None))
    after = named.stored
    releases = [
        release_of(before, Fire(due, due, 0)) for due in range(named.start + 20_000, named.start + 61_000, 20_000)
    ]
    job_ref = NamedJobId(after.client_id, after.job_key, after.incarnation)
    # No deliverer has met them in the pause, as when their messages were late.
    objections = {
        (one.occurrence.due_at - named.start) / 1000: objection_to(one, job_ref, after, is_started=False)
        for one in releases
    }
    assert [due for due, objection in objections.items() if objection is None] == delivered
    assert {one.state for one in objections.values() if one is not None} <= {State.SKIPPED}


@pytest.mark.parametrize("days", [0, 200], ids=["while it is recorded", "long after its record has expired"])
def test_a_pause_of_a_one_shot_that_has_fired_releases_nothing(days: int) -> None:
    start = MemoryClockwork().clock.at
    named = Named(at=start + 10_000, recurrence=None)
    assert named.run(60) == [10.0]
    clockwork = named.clockwork
    if days:
        clockwork.clock.advance(days * DAY_MS)
        clockwork.executions._records.clear()
    written = named.change(paused("it is over"))
    assert written.released == ()
    assert not clockwork.queue.messages
