"""Creates of anonymous jobs: put the rows, then check their shards; an idempotency key recognises a repeat."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.domain import ids, keys
from clockwork.domain.errors import KeyReused, RefusedForGood, Unavailable
from clockwork.domain.ids import AnonymousJob
from clockwork.domain.keys import edge_key, row_key
from clockwork.domain.releases import Release
from clockwork.domain.requests.create import NewJob
from clockwork.domain.storage.codec import decode_message
from clockwork.domain.timeline import Row, Shard
from clockwork.flows.requests.create import CreatedJob, create_jobs
from clockwork.flows.timeline.put import release_now
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Refused
from clockwork.targets.message import Payload
from tests.support.examples import NOW, new_job, occurrence, release, release_in, request


def create(clockwork: MemoryClockwork, *args: object, **kwargs: object) -> Sequence[CreatedJob]:
    return create_jobs(clockwork.world, request(*args, **kwargs), ensure_shards(clockwork.world))  # type: ignore[arg-type]


def id_of(job: CreatedJob) -> ids.AnonymousJob:
    decoded = ids.decode_job(job.job_id)
    assert isinstance(decoded, ids.AnonymousJob)
    return decoded


def row_of(clockwork: MemoryClockwork, job: CreatedJob) -> Row:
    place = id_of(job)
    row = clockwork.timeline.find([(place.partition_id, place.key)])[0]
    assert row is not None
    return row


def test_a_job_behind_no_horizon_is_kept_and_not_released() -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork, new_job(delay_ms=3_600_000))[0]
    assert not job.released
    assert job.due_at == clockwork.clock.at + 3_600_000
    assert not clockwork.queue.messages
    assert not clockwork.invoker.asked
    assert row_of(clockwork, job).expires_at > job.due_at


def test_the_first_job_of_a_fresh_stack_starts_its_shards_poller() -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork, new_job(delay_ms=2_000))[0]
    assert clockwork.invoker.asked == [id_of(job).partition_id]


def test_so_does_a_job_created_after_ticks_were_missed() -> None:
    clockwork = MemoryClockwork()
    clockwork.poll_all()
    clockwork.clock.advance(300_000)
    job = create(clockwork, new_job(delay_ms=2_000))[0]
    assert clockwork.invoker.asked == [id_of(job).partition_id]


def test_a_job_at_or_before_the_horizon_is_released_at_once_with_its_delay() -> None:
    clockwork = MemoryClockwork()
    clockwork.poll_all()
    job = create(clockwork, new_job(delay_ms=10_400))[0]
    assert job.released
    (message,) = clockwork.queue.messages.values()
    assert message.visible_at == clockwork.clock.at + 10_000
    assert release_in(message.body).job_id == job.job_id
    assert not clockwork.invoker.asked


def test_no_promise_if_the_release_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()
    clockwork.poll_all()

    def refuse(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        return [Refused(0, False, "throttled")]

    monkeypatch.setattr(clockwork.queue, "send", refuse)
    with pytest.raises(Unavailable, match="throttled"):
        create(clockwork)


def refusing(
    clockwork: MemoryClockwork, count: int, monkeypatch: pytest.MonkeyPatch, *, permanent: bool = False
) -> None:
    """Lets the queue refuse the last `count` releases of each send."""
    send = clockwork.queue.send

    def refuse(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        taken = len(releases) - count
        assert not send(releases[:taken], now)
        return [Refused(index, permanent, "throttled") for index in range(taken, len(releases))]

    monkeypatch.setattr(clockwork.queue, "send", refuse)


def sent(clockwork: MemoryClockwork) -> list[str]:
    return sorted(release_in(message.body).job_id for message in clockwork.queue.messages.values())


def unrecorded(count: int) -> list[NewJob]:
    return [new_job(delay_ms=index, record="none") for index in range(count)]


def test_what_the_queue_refuses_for_now_is_put_off_and_what_it_takes_is_sent_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = MemoryClockwork()
    clockwork.poll_all()
    with monkeypatch.context() as throttled:
        refusing(clockwork, 2, throttled)
        jobs = create(clockwork, *unrecorded(5))
    assert len(sent(clockwork)) == 3
    assert clockwork.invoker.asked == [id_of(jobs[0]).partition_id]
    clockwork.clock.advance(60_000)
    clockwork.poll_all()
    assert sent(clockwork) == sorted(job.job_id for job in jobs)


def test_what_is_put_off_is_put_behind_a_horizon_that_moves_on_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()
    clockwork.poll_all()
    put_new = clockwork.timeline.put_new
    polls: list[int] = []

    def overtaken(rows: Sequence[Row]) -> None:
        if not polls:
            polls.append(1)
            clockwork.clock.advance(120_000)
            clockwork.poll_all()
        put_new(rows)

    with monkeypatch.context() as throttled:
        refusing(clockwork, 1, throttled)
        throttled.setattr(clockwork.timeline, "put_new", overtaken)
        jobs = create(clockwork, *unrecorded(2))
    assert polls
    clockwork.clock.advance(60_000)
    clockwork.poll_all()
    assert sent(clockwork) == sorted(job.job_id for job in jobs)


@pytest.mark.parametrize(("count", "permanent", "ordered"), [(3, False, False), (1, True, False), (1, False, True)])
def test_no_promise_if_none_is_taken_or_one_may_not_come_later(
    count: int, permanent: bool, ordered: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clockwork = MemoryClockwork()
    clockwork.poll_all()
    job = occurrence(record="full", ordering_key="k") if ordered else occurrence(record="none")
    releases = [release(job_id=AnonymousJob("p000", row_key(NOW, f"x{n}"), 0).job_id, occurrence=job) for n in range(3)]
    shards = {"p000": Shard("p000", cursor=edge_key(NOW + 1), horizon=edge_key(NOW + 1))}
    refusing(clockwork, count, monkeypatch, permanent=permanent)
    monkeypatch.setattr(clockwork.world.releases, "send", clockwork.queue.send)
    with pytest.raises(Unavailable, match="throttled"):
        release_now(clockwork.world, releases, shards)


def test_no_promise_if_what_is_refused_cannot_be_put_off(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()
    clockwork.poll_all()
    refusing(clockwork, 1, monkeypatch)
    put_new = clockwork.timeline.put_new

    def overtaken(rows: Sequence[Row]) -> None:
        clockwork.clock.advance(120_000)
        clockwork.poll_all()
        put_new(rows)

    monkeypatch.setattr(clockwork.timeline, "put_new", overtaken)
    with pytest.raises(Unavailable, match="could not be put off"):
        create(clockwork, *unrecorded(2))


def test_a_poller_that_cannot_be_started_makes_a_job_late_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()

    def fail(partition_id: str) -> None:
        raise Unavailable("throttled")

    monkeypatch.setattr(clockwork.invoker, "poll", fail)
    assert create(clockwork)[0].job_id


def test_a_batch_draws_one_shard_and_every_job_has_an_id_of_its_own() -> None:
    clockwork = MemoryClockwork()
    jobs = create(clockwork, *[new_job(delay_ms=index) for index in range(60)])
    assert len({job.job_id for job in jobs}) == 60
    assert len({id_of(job).partition_id for job in jobs}) == 1


def test_many_jobs_share_a_millisecond_and_none_is_moved() -> None:
    clockwork = MemoryClockwork()
    jobs = create(clockwork, *[new_job(at=clockwork.clock.at + 5_000) for _ in range(30)])
    assert {job.due_at for job in jobs} == {clockwork.clock.at + 5_000}
    assert len({id_of(job).key for job in jobs}) == 30


def test_a_keyed_repeat_gets_the_same_jobs_and_instants() -> None:
    clockwork = MemoryClockwork()
    first = create(clockwork, new_job(), new_job(), key="k")
    clockwork.clock.advance(3_000)
    again = create(clockwork, new_job(), new_job(), key="k")
    assert [(j.job_id, j.due_at) for j in again] == [(j.job_id, j.due_at) for j in first]


def test_a_key_stands_for_one_request_until_it_is_forgotten() -> None:
    clockwork = MemoryClockwork()
    first = create(clockwork, key="k", digest="one")
    with pytest.raises(KeyReused, match="k"):
        create(clockwork, key="k", digest="two")
    clockwork.clock.advance(clockwork.settings.idempotency_seconds * 1000)
    later = create(clockwork, key="k", digest="two")
    assert later[0].job_id != first[0].job_id


def test_a_bad_element_left_out_changes_no_other_id() -> None:
    clockwork = MemoryClockwork()
    both = create(clockwork, new_job(), new_job(), key="k")
    wanted = request(new_job(), new_job(), key="k")
    only_second = create_jobs(
        clockwork.world,
        type(wanted)(client=wanted.client, jobs=wanted.jobs[1:], idempotency_key="k", digest="d"),
        ensure_shards(clockwork.world),
    )
    assert only_second[0].job_id == both[1].job_id


def test_a_repeat_never_revives_a_cancelled_job() -> None:
    clockwork = MemoryClockwork()
    job = create(clockwork, key="k")[0]
    place = id_of(job)
    clockwork.timeline.cancel(place.partition_id, place.key, place.element)
    clockwork.poll_all()
    create(clockwork, key="k")
    assert row_of(clockwork, job).cancelled == {0}
    assert not clockwork.queue.messages


def test_ids_of_one_client_are_never_those_of_another() -> None:
    clockwork = MemoryClockwork()
    wanted = request(key="k")
    others = type(wanted.client)(client_id="other", principals=())
    theirs = type(wanted)(client=others, jobs=wanted.jobs, idempotency_key="k", digest="d")
    partitions = ensure_shards(clockwork.world)
    mine = create_jobs(clockwork.world, wanted, partitions)[0]
    assert create_jobs(clockwork.world, theirs, partitions)[0].job_id != mine.job_id


def test_shards_are_registered_before_they_are_drawn_and_growth_adds_the_missing() -> None:
    clockwork = MemoryClockwork()
    assert list(ensure_shards(clockwork.world)) == list(keys.plain_partitions(4))
    grown = MemoryClockwork(settings=clockwork.settings.with_(shards=6))
    grown.shards.register("p000")
    assert list(ensure_shards(grown.world)) == list(keys.plain_partitions(6))


def test_of_a_batch_in_which_one_release_can_never_be_sent_each_other_is_sent_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = MemoryClockwork()
    ensure_shards(clockwork.world)
    assert clockwork.shards.acquire("p000", "poller", NOW, NOW + 1, keys.edge_key(NOW + 60_000)) is not None
    send = clockwork.queue.send

    def odd_raises(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        if any(one.occurrence.payload.body == b"odd" for one in releases):
            raise ValueError("odd")
        return send(releases, now)

    monkeypatch.setattr(clockwork.queue, "send", odd_raises)
    jobs = [new_job(delay_ms=5_000, payload=Payload(body)) for body in (b"1", b"odd", b"2")]
    with pytest.raises(RefusedForGood):
        create_jobs(clockwork.world, request(*jobs, key="k"), ["p000"])
    bodies = [one.occurrence.payload.body for m in clockwork.queue.messages.values() for one in decode_message(m.body)]
    assert sorted(bodies) == [b"1", b"2"]
