"""An upgrade with live jobs: what version 0.1.0 stored goes on under the code of now."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.jobs import HttpTarget, Payload, RetryPolicy
from clockwork.domain.named.changes import Change, cancelled, paused, replaced, resumed
from clockwork.domain.named_jobs import JobState, NamedJob
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.requests.create import CreateRequest
from clockwork.domain.storage.codec import MANY, PLAIN
from clockwork.flows.named.write import change
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.requests.redrive import redrive
from tests.contract.upgraded import LOOKAHEAD_SECONDS, MINUTE_MS, Upgraded
from tests.contract.worlds import AwsWorld
from tests.support.examples import new_job, outline
from tests.support.moto_in_turn import moto_in_turn

OK = HttpTarget("https://ok.example.com/")
#: A job that fires every minute has so many fires in one lookahead.
MOST_TWICE = LOOKAHEAD_SECONDS // 60


@pytest.fixture(params=["memory", "moto"])
def upgraded(request: pytest.FixtureRequest) -> Iterator[Upgraded]:
    yield from _upgraded(in_memory=request.param == "memory")


@pytest.fixture
def in_memory() -> Iterator[Upgraded]:
    yield from _upgraded(in_memory=True)


def _upgraded(*, in_memory: bool) -> Iterator[Upgraded]:
    with moto_in_turn():
        aws = AwsWorld(endpoint_url=None)
        yield Upgraded(aws, in_memory=in_memory)
        aws.close()


def judge(clockwork: Upgraded, minute: float) -> None:
    """Nothing is lost, nothing early, nothing unread.

    Twice comes at most what a poller of before had released and not committed, within its lookahead, of a job that was
    stored at level `none`: its release leaves no record that tells the repeat.
    """
    assert clockwork.lost(minute - 2) == []
    assert clockwork.early() == []
    assert clockwork.left() == []
    assert clockwork.world.environment.faults.take() == 0
    unrecorded = clockwork.rows["minutely, unrecorded"].job_id
    twice = clockwork.twice()
    assert {job_id for job_id, _ in twice} <= {unrecorded}
    assert all(0 < due_at - clockwork.upgraded_at <= LOOKAHEAD_SECONDS * 1000 for _, due_at in twice)
    assert len(twice) <= MOST_TWICE


def resume_the_client(clockwork: Upgraded) -> None:
    idle = clockwork.world.clients.get("idle")
    assert idle is not None
    clockwork.world.clients.put(msgspec.structs.replace(idle, paused=False, pause_reason=None))


def test_the_fixture_holds_what_it_is_for(in_memory: Upgraded) -> None:
    records = in_memory.clockwork.executions._records.values()
    assert {record.state for record in records} == {
        State.SUCCEEDED, State.RUNNING, State.FAILED, State.PARKED, State.DEAD, State.SKIPPED, State.CANCELLED,
    }  # fmt: skip
    bodies = [base64.b64decode(one["body"]) for one in (*in_memory.found["queue"], *in_memory.found["ordered"])]
    rows = [base64.b64decode(one["occurrences"]["B"]) for one in in_memory.found["tables"]["timeline"]]
    assert {body[0] for body in bodies} == {row[0] for row in rows} == {PLAIN, MANY}
    jobs = in_memory.rows.values()
    assert {job.state for job in jobs} == set(JobState) - {JobState.COMPLETED}
    assert {job.definition.record for job in jobs} == {"full", "none"}
    assert all(job.is_of_0_1_0 for job in jobs)


def test_what_it_stored_goes_on(upgraded: Upgraded) -> None:
    upgraded.until(24)
    resume_the_client(upgraded)
    upgraded.until(50)
    judge(upgraded, 50)


def test_only_what_left_no_record_may_come_twice_and_only_once_more(in_memory: Upgraded) -> None:
    in_memory.until(30)
    (only,) = in_memory.twice()
    assert (only[1] - in_memory.began_at) / 1000 == 24 * 60 + 7
    assert sum(one.due_at == only[1] and one.execution_id.startswith(only[0]) for one in in_memory.starts) == 2


def test_far_ones_and_rows_of_many_are_delivered_too(in_memory: Upgraded) -> None:
    resume_the_client(in_memory)
    in_memory.until(100)
    judge(in_memory, 100)
    alike = [one for one in in_memory.found["promises"] if one["what"].startswith("alike")]
    due = {one.due_at for one in in_memory.starts}
    assert len(alike) == 12
    assert {one["dueAt"] for one in alike} <= due


def test_its_backfill_goes_on_to_its_end(in_memory: Upgraded) -> None:
    resume_the_client(in_memory)
    in_memory.until(50)
    job_id = in_memory.job("in a backfill").job_id
    before = {execution_id for execution_id, _ in in_memory.found["delivered"]}
    runs = {one.execution_id for one in in_memory.starts if one.accepted} | before
    # One fire an hour, for thirty hours.
    assert (
        sum(
            one.startswith(f"{job_id}.")
            for one in runs
            if not one.endswith(f".{in_memory.rows['in a backfill'].version}")
        )
        == 30
    )


def changed(clockwork: Upgraded, how: str) -> None:
    """Changes every named job by the API of now, right after the upgrade."""
    for stored in clockwork.jobs():
        if not stored.is_alive:
            continue
        wanted = msgspec.structs.replace(stored.definition, payload=Payload(b"of now"), record="full")
        if how == "retimed" and stored.definition.recurrence is not None:
            every = Recurrence(every=Every(75_000, clockwork.upgraded_at))
            wanted = msgspec.structs.replace(wanted, recurrence=every)
        changes = {
            "replaced": [replaced(wanted, b'"of now"')],
            "retimed": [replaced(wanted, b'"of now"')],
            "paused": [paused("p")],
            "paused and resumed": [paused("p"), resumed(None)],
            "deleted": [cancelled("d")],
        }
        for one in changes[how]:
            _until_answered(clockwork, stored.job_key, one)


def _until_answered(clockwork: Upgraded, key: str, one: Change) -> None:
    """Changes a job as a client does: it repeats what was answered 503, as while an ordered shard is being read."""
    for _ in range(3):
        try:
            change(clockwork.world, clockwork.job(key), None, one)
        except Unavailable:
            clockwork.clockwork.clock.at += 20_000
            clockwork.clockwork.poll_all()
        else:
            return
    pytest.fail(f"{key} is never answered")


@pytest.mark.parametrize("how", ["replaced", "retimed", "paused", "paused and resumed", "deleted"])
def test_what_it_stored_goes_by_changes_of_now(in_memory: Upgraded, how: str) -> None:
    changed(in_memory, how)
    since = len(in_memory.starts)
    resume_the_client(in_memory)
    in_memory.until(50)
    judge(in_memory, 50)
    later = [one for one in in_memory.starts[since:] if one.due_at > in_memory.upgraded_at + 1_000]
    named = {job.job_id: job for job in in_memory.jobs()}
    schedule = [
        one for one in later if one.execution_id.split(".")[0] in named and "b" not in one.execution_id[-22:-20]
    ]
    if how in ("paused", "deleted"):
        assert not [one for one in later if _is_of_schedule(one.execution_id, named)]
    else:
        assert schedule


def _is_of_schedule(execution_id: str, named: dict[str, NamedJob]) -> bool:
    job_id, _, run = execution_id.split(".")
    return job_id in named and run in named[job_id].runs


def test_its_dead_ones_are_redriven(in_memory: Upgraded) -> None:
    in_memory.until(24)
    for dead in in_memory.world.executions.dead("acme", 100, None).executions:
        redrive(in_memory.world, dead)
    in_memory.until(30)
    dead_ones = [one for one in in_memory.found["promises"] if one["what"] in ("dead", "dead, unrecorded")]
    states = [in_memory.record(f"{one['jobId']}.{one['dueAt']:013d}.0") for one in dead_ones]
    assert [record and record.state for record in states] == [State.SUCCEEDED, State.SUCCEEDED]


@pytest.mark.parametrize(("key", "whats"), [("a key", ["keyed"]), ("packed", [f"alike {n}" for n in range(12)])])
def test_its_keys_stand_for_their_requests(in_memory: Upgraded, key: str, whats: Sequence[str]) -> None:
    delays = [30 * MINUTE_MS] if key == "a key" else [int((60 + n / 100) * MINUTE_MS) for n in range(12)]
    policy = RetryPolicy(max_attempts=4, backoff="fixed", initial_seconds=100, jitter="none")
    jobs = tuple(
        new_job(index=n, payload=Payload(what.encode()), delay_ms=delay_ms, retry_policy=policy, target=OK)
        for n, (what, delay_ms) in enumerate(zip(whats, delays, strict=True))
    )
    client = in_memory.world.clients.get("acme")
    assert client is not None
    outlines = tuple(map(outline, jobs)) if len(jobs) > 1 else ()
    asked = CreateRequest(client=client, jobs=jobs, outlines=outlines, idempotency_key=key, digest=key)
    before = {one["what"]: (one["jobId"], one["dueAt"]) for one in in_memory.found["promises"]}
    again = create_jobs(in_memory.world, asked, in_memory.world.shards.list())
    assert [(one.job_id, one.due_at) for one in again] == [before[what] for what in whats]


def test_what_it_paused_is_resumed(in_memory: Upgraded) -> None:
    resume_the_client(in_memory)
    in_memory.until(30)
    for key in ("paused", "once paused"):
        assert in_memory.job(key).state is JobState.PAUSED
        change(in_memory.world, in_memory.job(key), None, resumed(None))
    in_memory.until(50)
    judge(in_memory, 50)
    due = {one.due_at for one in in_memory.starts if one.execution_id.startswith(in_memory.job("paused").job_id)}
    # `catchUp: all`: every fire of the pause, which began at minute 14.
    assert {in_memory.began_at + 17_000 + minute * MINUTE_MS for minute in range(14, 49)} <= due
