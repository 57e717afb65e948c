"""A release that can be neither sent, nor recorded, nor set aside is passed, kept, and sent once that is possible.

One client's releases are refused by the queue, their records by the table of executions, and their rows by the
timeline, all with a plain ValueError. The shard goes on, and nothing of the others is repeated.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable, Undecodable
from clockwork.domain.executions import Execution, State
from clockwork.domain.fires.chains import release_of as release_of_fire
from clockwork.domain.ids import AnonymousJob, InvalidId, decode_job
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.quarantine import PARTS, quarantine_of
from clockwork.domain.named import changes
from clockwork.domain.recurrence import Fire
from clockwork.domain.releases import Release
from clockwork.domain.storage import codec
from clockwork.domain.storage.rows import release_of, row_of, row_of_job, row_of_many
from clockwork.domain.timeline import Row
from clockwork.flows.named.trigger import backfill
from clockwork.flows.poll.ordered_shard import poll_ordered_shard
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.poll.visit import PollReport
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Saved
from tests.support.examples import NOW, execution, occurrence
from tests.support.named import Named

P, ROWS = "p000", 9
DAYS_MS = 86_400_000
ODD, SECRET = "odd", "https://user:secret@example.com/"


def is_odd(value: object) -> bool:
    """Whether a value holds anything of the odd client."""
    return ODD.encode() in msgspec.msgpack.encode(value, enc_hook=repr)


def raising(inner: Callable[..., Any], is_refused: Callable[[object], bool] = is_odd) -> Callable[..., Any]:
    def call(about: Sequence[object], *more: Any) -> Any:
        if any(map(is_refused, about)):
            raise ValueError(f"never show {SECRET}")
        return inner(about, *more)

    return call


def is_of_quarantine(value: object) -> bool:
    return isinstance(value, Row) and value.partition_id == quarantine_of(value.partition_id[-4:])


@contextmanager
def poisoned(clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Within the block nothing of the odd client is taken by the queue, the records or the timeline."""
    with monkeypatch.context() as broken:
        for port, call in ((clockwork.queue, "send"), (clockwork.executions, "save"), (clockwork.timeline, "put_new")):
            broken.setattr(port, call, raising(getattr(port, call)))
        yield


def due(clockwork: MemoryClockwork, client_id: str = "acme", **more: Any) -> Occurrence:
    return occurrence(due_at=clockwork.clock.at + 5, client_id=client_id, record="none", **more)


def ready(*odd: Row, partition_id: str = P) -> MemoryClockwork:
    """Nine rows that are due soon, and those of the odd client among them."""
    clockwork = MemoryClockwork()
    clockwork.shards.register(partition_id)
    others = [row_of_job(partition_id, f"{n:022d}", due(clockwork), NOW * 2) for n in range(ROWS)]
    clockwork.timeline.put([*others, *odd])
    return clockwork


def odd_row(number: int = ROWS // 2, due_at: int = NOW + 5) -> Row:
    made = occurrence(due_at=due_at, client_id=ODD, record="none")
    return row_of_job(P, f"{number:021d}x", made, NOW * 2)


def visits(clockwork: MemoryClockwork, count: int = 3) -> list[PollReport]:
    reports = []
    for _ in range(count):
        reports.append(poll_shard(clockwork.world, P, clockwork.clock.at + 60_000))
        clockwork.clock.advance(60_000)
    return reports


def sent(clockwork: MemoryClockwork) -> Counter[str]:
    """How often the queue took a release of each client."""
    taken = [one for message in clockwork.queue.messages.values() for one in codec.decode_message(message.body)]
    return Counter(one.occurrence.client_id for one in taken)


def place_of(execution_id: str) -> str | None:
    """The key of the row that an anonymous execution is read from."""
    job = decode_job(execution_id.split(".")[0])
    return job.key if isinstance(job, AnonymousJob) else None


def quarantined(clockwork: MemoryClockwork, partition_id: str = P) -> int:
    """How many rows the quarantine holds, as it is and as the shard's row says."""
    rows = clockwork.timeline.read(quarantine_of(partition_id), keys.BEGINNING, keys.END, 1_000).rows
    assert clockwork.shards.get([partition_id])[partition_id].quarantined == len(rows)
    return len(rows)


def test_it_is_passed_and_released_once_as_soon_as_that_is_possible(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clockwork = ready(odd_row())
    with poisoned(clockwork, monkeypatch):
        assert {report.outcome for report in visits(clockwork)} == {"dry"}
        assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS}, 1)
    assert clockwork.world.environment.faults.take() > 0
    visits(clockwork)
    assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS, ODD: 1}, 0)
    assert SECRET not in caplog.text


def test_of_a_shared_row_only_the_job_is_kept_that_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()
    jobs = {place: due(clockwork, ODD if place == 2 else "acme") for place in range(4)}
    packed = row_of_many(P, keys.row_key(jobs[0].due_at, "x" * 22), jobs, NOW * 2)
    clockwork = ready(packed)
    raised: list[int] = []

    def odd(row: Row, index: int, element: Occurrence) -> Release:
        if element.client_id == ODD and not raised:
            raised.append(index)
            raise ValueError(SECRET)
        return release_of(row, index, element)

    monkeypatch.setattr("clockwork.flows.poll.expand.release_of", odd)
    with poisoned(clockwork, monkeypatch):
        visits(clockwork, 2)
        assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS + 3}, 1)
    visits(clockwork, 2)
    assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS + 3, ODD: 1}, 0)


def test_of_a_shared_row_the_death_that_is_kept_is_recorded_and_no_other_one_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = MemoryClockwork()
    jobs = {place: due(clockwork, client_id) for place, client_id in enumerate(("acme", "damaged", ODD, "acme"))}
    packed = row_of_many(P, keys.row_key(jobs[0].due_at, "x" * 22), jobs, NOW * 2)
    clockwork = ready(packed)

    def odd(row: Row, index: int, element: Occurrence) -> Release:
        if element.client_id != "acme":
            raise ValueError(SECRET)
        return release_of(row, index, element)

    monkeypatch.setattr("clockwork.flows.poll.expand.release_of", odd)
    saved: list[str] = []
    with poisoned(clockwork, monkeypatch):
        visits(clockwork, 1)
        assert quarantined(clockwork) == 1
    assert [one.client_id for one in clockwork.executions.all()] == ["damaged"]
    save = clockwork.executions.save

    def noting(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        saved.extend(after.client_id for _, after in changes)
        return save(changes)

    with monkeypatch.context() as watched:
        watched.setattr(clockwork.executions, "save", noting)
        visits(clockwork, 2)
    # A death that nobody recorded would leave its client with a job that never ran and is never told.
    assert sorted(one.client_id for one in clockwork.executions.all()) == ["damaged", ODD]
    assert saved == [ODD]
    assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS + 2}, 0)


def test_a_job_whose_record_cannot_even_be_made_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready(odd_row())

    def odd(row: Row, index: int, element: Occurrence, *_: object) -> Any:
        if element.client_id == ODD:
            raise ValueError(SECRET)
        return release_of(row, index, element)

    with monkeypatch.context() as broken:
        for name in ("release_of", "undecodable_element"):
            broken.setattr(f"clockwork.flows.poll.expand.{name}", odd)
        visits(clockwork, 2)
        assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS}, 1)
    visits(clockwork, 2)
    assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS, ODD: 1}, 0)


def test_a_row_that_nobody_can_read_is_recorded_as_soon_as_that_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready(msgspec.structs.replace(odd_row(), blob=b"\x01garbage"))
    save = clockwork.executions.save

    def refusing(changes: Sequence[Any]) -> Any:
        if any(after.raw is not None for _, after in changes):
            raise ValueError(SECRET)
        return save(changes)

    with monkeypatch.context() as broken:
        broken.setattr(clockwork.executions, "save", refusing)
        visits(clockwork, 2)
        assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS}, 1)
    visits(clockwork, 1)
    assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS}, 0)
    assert [one.kept.raw for one in clockwork.executions.all()] == [b"\x01garbage"]


def test_a_fire_is_kept_alone_and_is_not_missed_however_late_it_is_released(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(every_ms=30_000, catch_up="none")
    clockwork, partition_id = named.clockwork, named.job.partition_id
    fires: list[str] = []

    def poll(count: int) -> None:
        for _ in range(count):
            clockwork.poll(partition_id)
            clockwork.clock.advance(60_000)

    def odd(inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(about: Sequence[Any], *more: Any) -> Any:
            for one in about:
                is_release = isinstance(one, Release)
                if is_release or isinstance(one, tuple):
                    execution_id = one.execution_id if is_release else one[1].execution_id
                    fires[:] = fires or [execution_id]
                    if execution_id == fires[0]:
                        raise ValueError(SECRET)
                elif any(isinstance(element, Release) for element in codec.decode_row(one.blob).values()):
                    raise ValueError(SECRET)
            return inner(about, *more)

        return call

    with monkeypatch.context() as broken:
        for port, call in ((clockwork.queue, "send"), (clockwork.executions, "save"), (clockwork.timeline, "put_new")):
            broken.setattr(port, call, odd(getattr(port, call)))
        poll(4)
        assert quarantined(clockwork, partition_id) == 1
    poll(2)
    assert quarantined(clockwork, partition_id) == 0
    taken = [one for message in clockwork.queue.messages.values() for one in codec.decode_message(message.body)]
    counted = Counter(one.execution_id for one in taken)
    assert set(counted.values()) == {1}
    assert fires[0] in counted
    assert not clockwork.executions.all()


def test_a_chain_that_is_given_up_goes_on_with_all_its_fires(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(every_ms=30_000, catch_up="all")
    clockwork, partition_id = named.clockwork, named.job.partition_id
    clockwork.world = clockwork.world.with_(settings=clockwork.settings.with_(commit_occurrences=3))
    began_at = clockwork.clock.at

    def raises(*_: object) -> Any:
        raise ValueError(SECRET)

    with monkeypatch.context() as broken:
        broken.setattr("clockwork.flows.poll.expand.expand", raises)
        broken.setattr(clockwork.executions, "save", raises)
        clockwork.clock.advance(240_000)
        clockwork.poll(partition_id)
        assert quarantined(clockwork, partition_id) == 1
    for _ in range(8):
        clockwork.poll(partition_id)
        clockwork.clock.advance(60_000)
    assert quarantined(clockwork, partition_id) == 0
    taken = [one for message in clockwork.queue.messages.values() for one in codec.decode_message(message.body)]
    counted = Counter((one.occurrence.due_at - began_at) // 30_000 for one in taken)
    assert set(counted) == set(range(1, max(counted) + 1))
    assert max(counted) >= 20


def test_a_poller_that_dies_before_it_commits_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready(odd_row())

    def die(*_: object) -> bool:
        raise KeyboardInterrupt

    with poisoned(clockwork, monkeypatch):
        monkeypatch.setattr(clockwork.shards, "commit", die)
        with pytest.raises(KeyboardInterrupt):
            visits(clockwork, 1)
        monkeypatch.undo()
    clockwork.clock.advance(60_000)
    visits(clockwork, 1)
    assert sent(clockwork)[ODD] == 1


def test_what_is_kept_keeps_no_other_work_waiting_while_it_cannot_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready(odd_row())
    with poisoned(clockwork, monkeypatch):
        visits(clockwork, 1)

    def throttled(_: Sequence[tuple[str, str]]) -> Sequence[Row | None]:
        raise Unavailable("throttled")

    later = msgspec.structs.replace(
        due(clockwork), due_at=clockwork.clock.at + clockwork.settings.lookahead_seconds * 1000
    )
    clockwork.timeline.put([row_of_job(P, "y" * 22, later, NOW * 2)])
    with monkeypatch.context() as broken:
        broken.setattr(clockwork.timeline, "find", throttled)
        assert visits(clockwork, 1)[0].outcome == "dry"
    assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS + 1}, 1)
    visits(clockwork, 1)
    assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS + 1, ODD: 1}, 0)


def test_a_visit_without_time_leaves_what_is_kept_to_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready(odd_row())
    with poisoned(clockwork, monkeypatch):
        visits(clockwork, 1)
    assert poll_shard(clockwork.world, P, clockwork.clock.at + 4_000).released == 0
    assert quarantined(clockwork) == 1


@pytest.mark.parametrize("gone", [True, False], ids=["its row has gone", "its row is about to expire"])
def test_what_cannot_be_told_while_its_row_lives_is_logged_once(
    gone: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    lives_ms = 3 * DAYS_MS
    odd = msgspec.structs.replace(odd_row(), expires_at=NOW + lives_ms)
    clockwork = ready(odd)
    with caplog.at_level(logging.ERROR), poisoned(clockwork, monkeypatch):
        visits(clockwork, 1)
        if gone:
            clockwork.timeline.forget(P, [odd.key])
        else:
            clockwork.clock.advance(lives_ms - lives_ms // PARTS - 10 * 60_000)
            visits(clockwork, 5)
            assert quarantined(clockwork) == 1
            clockwork.clock.advance(10 * 60_000)
        visits(clockwork, 30)
    assert quarantined(clockwork) == 0
    (told,) = [one for one in caplog.records if getattr(one, "action", "") == "death_not_recorded"]
    assert odd.key in told.__dict__["key"]
    assert SECRET not in caplog.text


def test_any_number_is_passed_and_released_once(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready(*[odd_row(number) for number in range(250)])
    with poisoned(clockwork, monkeypatch):
        assert {one.outcome for one in visits(clockwork, 2)} == {"dry"}
        assert quarantined(clockwork) == 250
    visits(clockwork, 2)
    assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS, ODD: 250}, 0)


def test_an_ordered_shard_passes_a_row_that_raises_and_owes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()
    clockwork.world = clockwork.world.with_(settings=clockwork.settings.with_(ordered_shards=1))
    clockwork.shards.register("o000")
    jobs = [due(clockwork, one, ordering_key="k") for one in (ODD, "acme")]
    clockwork.timeline.put([row_of_job("o000", f"{n:022d}", one, NOW * 2) for n, one in enumerate(jobs)])
    clockwork.clock.advance(10)

    def odd(row: Row, index: int, element: Occurrence) -> Release:
        if element.client_id == ODD:
            raise ValueError(SECRET)
        return release_of(row, index, element)

    with monkeypatch.context() as broken, poisoned(clockwork, monkeypatch):
        broken.setattr("clockwork.flows.poll.expand.release_of", odd)
        assert poll_ordered_shard(clockwork.world, "o000", clockwork.clock.at + 20_000).released == 1
        assert quarantined(clockwork, "o000") == 1
    clockwork.clock.advance(1_000)
    assert poll_ordered_shard(clockwork.world, "o000", clockwork.clock.at + 20_000).released == 1
    assert quarantined(clockwork, "o000") == 0


def owing(monkeypatch: pytest.MonkeyPatch) -> tuple[Named, int]:
    """A job, every 30 s, all of whose fires were refused everywhere for a visit, and how many are still to do."""
    named = Named(every_ms=30_000, catch_up="all")
    clockwork, partition_id = named.clockwork, named.job.partition_id

    def odd(inner: Callable[..., Any]) -> Callable[..., Any]:
        def call(about: Sequence[Any], *more: Any) -> Any:
            for one in about:
                if isinstance(one, Release | tuple) or any(
                    isinstance(element, Release) for element in codec.decode_row(one.blob).values()
                ):
                    raise ValueError(SECRET)
            return inner(about, *more)

        return call

    with monkeypatch.context() as broken:
        for port, call in ((clockwork.queue, "send"), (clockwork.executions, "save"), (clockwork.timeline, "put_new")):
            broken.setattr(port, call, odd(getattr(port, call)))
        clockwork.poll(partition_id)
    count = quarantined(clockwork, partition_id)
    assert count > 1
    return named, count


def taken(named: Named) -> list[Release]:
    """All releases in the queue, by due instant."""
    bodies = [message.body for message in named.clockwork.queue.messages.values()]
    return sorted((one for body in bodies for one in codec.decode_message(body)), key=lambda one: one.occurrence.due_at)


def test_fires_in_quarantine_outlive_a_visit_that_cannot_read_their_job(monkeypatch: pytest.MonkeyPatch) -> None:
    named, count = owing(monkeypatch)
    clockwork, partition_id = named.clockwork, named.job.partition_id
    with monkeypatch.context() as broken:
        broken.setattr(clockwork.jobs, "get", lambda refs: [Undecodable("damaged") for _ in refs])
        clockwork.clock.advance(60_000)
        clockwork.poll(partition_id)
    assert quarantined(clockwork, partition_id) == count
    clockwork.clock.advance(60_000)
    clockwork.poll(partition_id)
    assert quarantined(clockwork, partition_id) == 0
    due_at = [one.occurrence.due_at for one in taken(named)]
    assert due_at[:count] == [named.start + 30_000 * number for number in range(1, count + 1)]


@pytest.mark.parametrize("what", ["pause", "pause and resume", "another timing"])
def test_fires_in_quarantine_come_though_their_job_is_changed_meanwhile(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named, count = owing(monkeypatch)
    revision = named.job.revision
    if what == "another timing":
        named.change(changes.replaced(named.definition(every_ms=20_000, catch_up="all"), b'"y"'))
    else:
        named.change(changes.paused("incident"))
    if what == "pause and resume":
        named.change(changes.resumed(None))
    named.clockwork.clock.advance(60_000)
    named.clockwork.poll(named.job.partition_id)
    assert quarantined(named.clockwork, named.job.partition_id) == 0
    old = [one.occurrence.due_at for one in taken(named) if one.revision == revision]
    # The deliverer's look judges them by their revision, as it does releases that were sent before the change.
    assert old == [named.start + 30_000 * number for number in range(1, count + 1)]


def test_a_retry_of_a_named_job_that_is_kept_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(every_ms=3_600_000)
    clockwork, partition_id = named.clockwork, named.job.partition_id
    at = clockwork.clock.at + 5
    retry = msgspec.structs.replace(release_of_fire(named.stored, Fire(at, at, 0)), attempt=2)
    clockwork.timeline.put([row_of(partition_id, keys.row_key(at, "retry"), [retry], NOW * 2)])
    with monkeypatch.context() as broken:
        for port, call in ((clockwork.queue, "send"), (clockwork.executions, "save"), (clockwork.timeline, "put_new")):
            broken.setattr(port, call, raising(getattr(port, call), lambda one: not is_of_quarantine(one)))
        clockwork.poll(partition_id)
        assert quarantined(clockwork, partition_id) == 1
    clockwork.clock.advance(60_000)
    clockwork.poll(partition_id)
    assert quarantined(clockwork, partition_id) == 0
    assert [(one.execution_id, one.attempt) for one in taken(named)] == [(retry.execution_id, 2)]


@pytest.mark.parametrize("what", ["nothing", "pause", "another timing"])
def test_a_backfilled_fire_that_is_kept_comes_once_though_its_job_is_changed_meanwhile(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Named(every_ms=3_600_000)
    clockwork, partition_id = named.clockwork, named.job.partition_id
    from_at = named.start - 3 * 3_600_000
    planned = backfill(clockwork.world, named.stored, from_at, named.start - 1, 0.1, "key", admit=lambda *_: None)
    with monkeypatch.context() as broken:
        for port, call in ((clockwork.queue, "send"), (clockwork.executions, "save")):
            broken.setattr(port, call, raising(getattr(port, call), lambda one: not is_of_quarantine(one)))
        broken.setattr(clockwork.timeline, "put_new", raising(clockwork.timeline.put_new, is_release))
        clockwork.poll(partition_id)
    assert (planned.count, quarantined(clockwork, partition_id)) == (3, 3)
    if what == "another timing":
        named.change(changes.replaced(named.definition(every_ms=2_000_000), b'"y"'))
    elif what == "pause":
        named.change(changes.paused("incident"))
    clockwork.clock.advance(2_000)
    clockwork.poll(partition_id)
    assert quarantined(clockwork, partition_id) == 0
    mine = [one for one in taken(named) if one.of.run == planned.backfill_id]
    assert [one.occurrence.due_at for one in mine] == [from_at + 3_600_000 * number for number in range(3)]
    if what != "another timing":
        # They keep the rate that was asked for.
        assert [one.run_at - mine[0].run_at for one in mine] == [0, 10_000, 20_000]
    named.run(60)
    ended = {one.execution_id: one.state for one in named.executions()}
    assert [ended[one.execution_id] for one in mine] == [State.SUCCEEDED] * 3


def is_release(about: object) -> bool:
    """Whether a row holds a release, as one that is set aside does."""
    return isinstance(about, Row) and any(isinstance(one, Release) for one in codec.decode_row(about.blob).values())


def test_a_deleted_job_is_kept_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    named, _ = owing(monkeypatch)
    named.change(changes.cancelled(None))
    named.clockwork.clock.advance(60_000)
    named.clockwork.poll(named.job.partition_id)
    assert (quarantined(named.clockwork, named.job.partition_id), taken(named)) == (0, [])


def test_one_that_an_ordered_queue_never_takes_holds_up_no_other_key(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()
    clockwork.world = clockwork.world.with_(settings=clockwork.settings.with_(ordered_shards=1))
    clockwork.shards.register("o000")
    jobs = [due(clockwork, ODD, ordering_key="k"), *(due(clockwork, ordering_key=f"k{n}") for n in range(20))]
    clockwork.timeline.put([row_of_job("o000", f"{n:022d}", one, NOW * 2) for n, one in enumerate(jobs)])
    clockwork.clock.advance(10)
    with monkeypatch.context() as broken, poisoned(clockwork, monkeypatch):
        broken.setattr(clockwork.ordered_queue, "send", raising(clockwork.ordered_queue.send))
        for expected in (20, 0, 0):
            assert poll_ordered_shard(clockwork.world, "o000", clockwork.clock.at + 20_000).released == expected
            assert quarantined(clockwork, "o000") == 1
            clockwork.clock.advance(60_000)
    assert poll_ordered_shard(clockwork.world, "o000", clockwork.clock.at + 20_000).released == 1
    assert quarantined(clockwork, "o000") == 0


def test_a_job_that_was_cancelled_meanwhile_is_not_released(monkeypatch: pytest.MonkeyPatch) -> None:
    odd = odd_row()
    clockwork = ready(odd)
    with poisoned(clockwork, monkeypatch):
        visits(clockwork, 1)
    assert clockwork.timeline.cancel(P, odd.key, 0)
    visits(clockwork, 2)
    assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS}, 0)


@pytest.mark.parametrize("has_ended", [True, False])
def test_a_release_that_is_set_aside_for_days_is_looked_at(has_ended: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = MemoryClockwork()
    clockwork.shards.register(P)
    row = row_of_job(P, "x" * 22, occurrence(due_at=NOW + 5, client_id=ODD), NOW * 2)
    clockwork.timeline.put([row])
    job_id = AnonymousJob(P, row.key, 0).job_id
    state = State.CANCELLED if has_ended else State.PENDING
    stored = execution(state, job_id=job_id, execution_id=f"{job_id}.{NOW + 5}.0", due_at=NOW + 5, revision=1)
    clockwork.executions.save([(None, msgspec.structs.replace(stored, expires_at=NOW + 8 * DAYS_MS))])

    def throttled(releases: Sequence[Release], _: int) -> Any:
        raise Unavailable(f"{len(releases)} are refused for now")

    monkeypatch.setattr(clockwork.queue, "send", throttled)
    assert visits(clockwork, 1)[0].set_aside == 1
    clockwork.clock.advance(4 * DAYS_MS)
    assert visits(clockwork, 1)[0].set_aside == (0 if has_ended else 1)
    (record,) = clockwork.executions.all()
    assert (record.expires_at > NOW + 8 * DAYS_MS) is not has_ended


def test_what_cannot_be_named_is_kept_with_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready(odd_row())

    def odd(execution_id: str, _: int | None) -> str:
        raise InvalidId(f"{SECRET} {execution_id}")

    with monkeypatch.context() as broken, poisoned(clockwork, monkeypatch):
        broken.setattr("clockwork.domain.lifecycle.quarantine.tag_of", odd)
        visits(clockwork, 1)
        assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS}, 1)
    visits(clockwork, 1)
    assert (sent(clockwork), quarantined(clockwork)) == ({"acme": ROWS, ODD: 1}, 0)
