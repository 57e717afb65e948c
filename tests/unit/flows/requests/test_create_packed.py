"""Packed jobs: jobs of a batch share rows, and are still created, repeated, polled, cancelled and shown one by one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.domain import ids, keys
from clockwork.domain.clients import Client
from clockwork.domain.executions import Outcome, State
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.releases import Delivery
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.domain.timeline import Row
from clockwork.flows.access import Caller
from clockwork.flows.requests.cancel import cancel_job
from clockwork.flows.requests.create import CreatedJob, create_jobs
from clockwork.flows.requests.read import list_executions, view_job
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.message import Payload
from tests.support.examples import ACME, ALICE, new_job, packed_request

CALLER = Caller(ALICE, client_ids=frozenset({ACME.client_id}))


def jobs_at(clockwork: MemoryClockwork, *delays_ms: int, record: str = "none") -> list[NewJob]:
    now = clockwork.clock.at
    return [
        new_job(at=now + delay, payload=Payload(b"%d" % place), record=record) for place, delay in enumerate(delays_ms)
    ]


def create(clockwork: MemoryClockwork, request: CreateRequest) -> Sequence[CreatedJob]:
    return create_jobs(clockwork.world, request, ensure_shards(clockwork.world))


def rows_of(clockwork: MemoryClockwork) -> list[Row]:
    partitions = ensure_shards(clockwork.world)
    return [row for p in partitions for row in clockwork.timeline.read(p, keys.BEGINNING, keys.END, 1_000).rows]


def delivered(clockwork: MemoryClockwork) -> list[bytes]:
    return sorted(delivery.occurrence.payload.body for delivery in clockwork.targets.delivered)


def test_jobs_of_one_minute_share_a_row_under_their_earliest_instant() -> None:
    clockwork = MemoryClockwork()
    start = clockwork.clock.at = 1_700_000_040_000  # a whole minute
    created = create(clockwork, packed_request(*jobs_at(clockwork, 20_000, 10_000, 30_000, 70_000)))
    shared, alone = rows_of(clockwork)
    assert [keys.instant_of(row.key) - start for row in (shared, alone)] == [10_000, 70_000]
    places = [ids.decode_job(job.job_id) for job in created]
    assert [(place.key, place.element) for place in places if isinstance(place, ids.AnonymousJob)] == [
        (shared.key, 0), (shared.key, 1), (shared.key, 2), (alone.key, 0)
    ]  # fmt: skip
    assert shared.expires_at == clockwork.world.row_expires_at(start + 30_000)


def test_each_is_delivered_once_at_its_own_instant() -> None:
    clockwork = MemoryClockwork()
    created = create(clockwork, packed_request(*jobs_at(clockwork, *range(0, 90_000, 1_500), record="full")))
    starts: dict[str, int] = {}

    def answer(delivery: Delivery) -> Outcome:
        starts.setdefault(delivery.job_id, clockwork.clock.at)
        return clockwork.targets._succeed(delivery)

    clockwork.targets._answer = answer
    clockwork.run_until(clockwork.clock.at + 200_000)
    assert len(starts) == len(clockwork.targets.delivered) == 60
    assert all(0 <= starts[job.job_id] - job.due_at < 1_000 for job in created)
    assert len(clockwork.executions.all()) == 60


def test_a_row_behind_the_horizon_is_released_whole_but_for_what_was_cancelled() -> None:
    clockwork = MemoryClockwork()
    clockwork.poll_all()
    request = packed_request(*jobs_at(clockwork, 1_000, 2_000, 3_000), key="k")
    first = create(clockwork, request)
    assert all(job.released for job in first)
    clockwork.queue.messages.clear()
    cancel_job(clockwork.world, CALLER, first[1].job_id)
    assert create(clockwork, request) == first
    clockwork.run_until(clockwork.clock.at + 10_000)
    assert delivered(clockwork) == [b"0", b"2"]


@pytest.mark.parametrize("refused_first", [(), (0,), (1, 3), (0, 1, 2)])
@pytest.mark.parametrize("refused_then", [(), (0,), (2,), (0, 1, 3)])
def test_a_repeat_finds_every_job_where_it_was_whatever_is_refused_by_now(
    refused_first: tuple[int, ...], refused_then: tuple[int, ...]
) -> None:
    clockwork = MemoryClockwork()
    jobs = [new_job(delay_ms=30_000 + 100 * place, payload=Payload(b"%d" % place)) for place in range(4)]
    answers = [
        dict(zip((job.index for job in request.jobs), create(clockwork, request), strict=True))
        for request in (
            packed_request(*jobs, key="k", refused=refused_first),
            packed_request(*jobs, key="k", refused=refused_then),
            packed_request(*jobs, key="k"),
        )
    ]
    for answer in answers:
        assert answer.items() <= answers[2].items()
    clockwork.run_until(clockwork.clock.at + 120_000)
    assert delivered(clockwork) == [b"0", b"1", b"2", b"3"]


def test_one_of_many_is_cancelled_by_its_rows_key_and_shown_alone() -> None:
    clockwork = MemoryClockwork()
    clockwork.clock.at = 1_700_000_040_000
    clockwork.poll_all()
    # The row's key is before the horizon 70 s ahead, the job's own instant is not.
    created = create(clockwork, packed_request(*jobs_at(clockwork, 121_000, 170_000)))
    view = view_job(clockwork.world, CALLER, created[1].job_id)
    assert (view.state, view.job.occurrence.payload.body) == ("SCHEDULED", b"1")
    clockwork.clock.advance(60_000)
    clockwork.poll_all()
    assert view_job(clockwork.world, CALLER, created[1].job_id).state == "RELEASED"
    assert cancel_job(clockwork.world, CALLER, created[1].job_id).verdict is Verdict.TOO_LATE


def test_a_cancelled_one_stays_and_its_neighbours_go() -> None:
    clockwork = MemoryClockwork()
    created = create(clockwork, packed_request(*jobs_at(clockwork, 300_000, 300_001, 300_002)))
    assert cancel_job(clockwork.world, CALLER, created[1].job_id).verdict is Verdict.CANCELLED
    assert view_job(clockwork.world, CALLER, created[1].job_id).state == "CANCELLED"
    assert view_job(clockwork.world, CALLER, created[0].job_id).state == "SCHEDULED"
    clockwork.run_until(clockwork.clock.at + 400_000)
    assert delivered(clockwork) == [b"0", b"2"]


def test_at_full_a_cancel_of_one_of_many_holds_after_its_release() -> None:
    clockwork = MemoryClockwork()
    clockwork.poll_all()
    created = create(clockwork, packed_request(*jobs_at(clockwork, 5_000, 5_000, record="full")))
    assert created[0].released
    assert cancel_job(clockwork.world, CALLER, created[0].job_id).verdict is Verdict.CANCELLED
    clockwork.run_until(clockwork.clock.at + 10_000)
    assert delivered(clockwork) == [b"1"]
    ended = [list_executions(clockwork.world, CALLER, job.job_id, 10).executions[0].state for job in created]
    assert ended == [State.CANCELLED, State.SUCCEEDED]


def test_two_clients_with_the_same_key_share_nothing() -> None:
    clockwork = MemoryClockwork()
    request = packed_request(*jobs_at(clockwork, 10_000, 10_000), key="k")
    theirs = CreateRequest(
        client=Client(client_id="other"), jobs=request.jobs, outlines=request.outlines, idempotency_key="k", digest="d"
    )
    mine = {job.job_id for job in create(clockwork, request)}
    assert mine.isdisjoint(job.job_id for job in create(clockwork, theirs))
    assert len(rows_of(clockwork)) == 2


def test_a_poller_commits_at_least_every_500_occurrences_of_shared_rows() -> None:
    clockwork = MemoryClockwork(settings=MemoryClockwork().settings.with_(shards=1))
    for _ in range(3):
        create(clockwork, packed_request(*jobs_at(clockwork, *[1_000] * 500)))
    sizes: list[int] = []
    commit, released = clockwork.shards.commit, [0]

    def counting(lease: object) -> bool:
        sizes.append(len(clockwork.queue.messages) - released[0])
        released[0] = len(clockwork.queue.messages)
        return commit(lease)  # type: ignore[arg-type]

    clockwork.shards.commit = counting  # type: ignore[method-assign]
    assert sum(report.released for report in clockwork.poll_all()) == 1_500
    assert max(sizes) <= 500


def test_a_job_that_was_refused_at_first_stays_cancelled_however_often_the_request_is_repeated() -> None:
    clockwork = MemoryClockwork()
    jobs = [new_job(delay_ms=30_000, payload=Payload(b"%d" % number), record="none") for number in range(2)]
    create(clockwork, packed_request(*jobs, key="k", refused=(1,)))
    late = create(clockwork, packed_request(*jobs, key="k"))[1]
    assert cancel_job(clockwork.world, CALLER, late.job_id).verdict is Verdict.CANCELLED
    assert create(clockwork, packed_request(*jobs, key="k"))[1].job_id == late.job_id
    clockwork.run_until(clockwork.clock.at + 60_000)
    assert delivered(clockwork) == [b"0"]
