"""One client's silence, and one byte, hold up nobody else: what a poller passes is looked at again, each by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import State
from clockwork.domain.lifecycle.quarantine import PARTS, quarantine_of
from clockwork.domain.named import changes
from clockwork.domain.named_jobs import Pointer
from clockwork.domain.recurrence import Fire
from clockwork.domain.storage import codec
from clockwork.domain.storage.rows import row_of, row_of_job
from clockwork.domain.timeline import Row
from clockwork.flows.poll import quarantine
from clockwork.flows.poll.looking import MOST_SILENT
from clockwork.flows.poll.ordered_shard import poll_ordered_shard
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.poll.visit import PollReport
from clockwork.memory.world import MemoryClockwork
from tests.support.examples import NOW, occurrence
from tests.support.named import Named

P, MINUTE_MS, DAY_MS = "p000", 60_000, 86_400_000


class Silent:
    """Named jobs, of which those of some clients give no answer. `asked`: for whom, call by call."""

    def __init__(self, clockwork: MemoryClockwork, monkeypatch: pytest.MonkeyPatch, *client_ids: str) -> None:
        self._inner = clockwork.jobs.get
        self.client_ids = set(client_ids)
        self.asked: list[set[str]] = []
        monkeypatch.setattr(clockwork.jobs, "get", self)

    def __call__(self, refs: Sequence[tuple[str, str]]) -> Any:
        self.asked.append({client_id for client_id, _ in refs})
        if self.asked[-1] & self.client_ids:
            raise Unavailable("its partition is throttled")
        return self._inner(refs)


def ready(partition_id: str = P) -> MemoryClockwork:
    clockwork = MemoryClockwork()
    clockwork.world = clockwork.world.with_(settings=clockwork.settings.with_(ordered_shards=1))
    clockwork.shards.register(partition_id)
    return clockwork


def pointer_row(client_id: str, number: int, partition_id: str = P, **more: Any) -> Row:
    fire = Fire(NOW + number, NOW + number, 1)
    pointer = Pointer(client_id, f"job-{number}", "series", fire, **more)
    return row_of(partition_id, pointer.key, [pointer], NOW + 3 * DAY_MS)


def job_row(client_id: str, number: int, partition_id: str = P, **more: Any) -> Row:
    made = occurrence(due_at=NOW + number, client_id=client_id, record="none", **more)
    return row_of_job(partition_id, f"{number:022d}", made, NOW + 3 * DAY_MS)


def visit(clockwork: MemoryClockwork) -> PollReport:
    clockwork.clock.advance(MINUTE_MS)
    return poll_shard(clockwork.world, P, clockwork.clock.at + 240_000)


def sent(clockwork: MemoryClockwork) -> list[str]:
    messages = sorted(clockwork.queue.messages.values(), key=lambda one: one.message_id)
    releases = [one for message in messages for one in codec.decode_message(message.body)]
    return [one.occurrence.client_id for one in releases]


def kept(clockwork: MemoryClockwork, partition_id: str = P) -> list[str]:
    page = clockwork.timeline.read(quarantine_of(partition_id), keys.BEGINNING, keys.END, 5_000)
    return [row.key for row in page.rows]


def test_a_client_whose_jobs_give_no_answer_is_asked_for_once_in_a_visit_and_holds_up_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = ready()
    clockwork.timeline.put([pointer_row("out", number) for number in range(0, 600, 2)])
    clockwork.timeline.put([job_row("globex", number) for number in range(1, 600, 2)])
    silent = Silent(clockwork, monkeypatch, "out")
    report = visit(clockwork)
    assert (report.outcome, report.released, report.quarantined) == ("dry", 300, 300)
    # With the others of its portion, and by itself.
    assert len([one for one in silent.asked if "out" in one]) <= 2
    assert sent(clockwork) == ["globex"] * 300


def test_a_flood_in_quarantine_keeps_no_other_client_in_it_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    others = [f"other-{number}" for number in range(8)]
    clockwork.timeline.put([pointer_row("out", number) for number in range(1_200)])
    clockwork.timeline.put([pointer_row(one, 2_000 + number) for number, one in enumerate(others)])
    silent = Silent(clockwork, monkeypatch, "out", *others)
    assert visit(clockwork).quarantined == 1_208
    silent.client_ids = {"out"}
    silent.asked.clear()
    report = visit(clockwork)
    # Nothing of these jobs is stored, so that their rows are done once their client answers.
    assert (report.outcome, len(kept(clockwork))) == ("dry", 1_200)
    assert len([one for one in silent.asked if "out" in one]) == MOST_SILENT
    silent.client_ids.clear()
    reports = [visit(clockwork) for _ in range(3)]
    assert (reports[-1].quarantined, kept(clockwork)) == (0, [])


def test_one_job_that_gives_no_answer_keeps_the_others_of_its_client_waiting_for_a_few_visits_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = ready()
    clockwork.timeline.put([pointer_row("out", number) for number in range(20)])
    silent = Silent(clockwork, monkeypatch, "out")
    assert visit(clockwork).quarantined == 20

    def answers(refs: Sequence[tuple[str, str]]) -> Any:
        if ("out", "job-7") in refs:
            raise Unavailable("its item is hot")
        return silent._inner(refs)

    monkeypatch.setattr(clockwork.jobs, "get", answers)
    assert visit(clockwork).quarantined == 1
    assert [key.split("/")[1] for key in kept(clockwork)] == [pointer_row("out", 7).key]


def test_a_poller_that_dies_before_it_commits_leaves_the_same_row(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    clockwork.timeline.put([pointer_row("out", 5), job_row("globex", 6)])
    Silent(clockwork, monkeypatch, "out")

    def die(*_: object) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr(clockwork.shards, "commit", die)
        with pytest.raises(KeyboardInterrupt):
            visit(clockwork)
    assert len(kept(clockwork)) == 1
    before = clockwork.shards.get([P])[P]
    assert (before.cursor, before.quarantined) == (keys.BEGINNING, 0)
    assert visit(clockwork).quarantined == 1
    assert len(kept(clockwork)) == 1


def test_a_row_is_not_passed_before_the_quarantine_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready()
    rows = [job_row("globex", 4), pointer_row("out", 5), job_row("globex", 6)]
    clockwork.timeline.put(rows)
    Silent(clockwork, monkeypatch, "out")
    put_new = clockwork.timeline.put_new

    def throttled(rows: Sequence[Row]) -> None:
        if any(row.partition_id == quarantine_of(P) for row in rows):
            raise Unavailable("throttled")
        put_new(rows)

    with monkeypatch.context() as broken:
        broken.setattr(clockwork.timeline, "put_new", throttled)
        assert visit(clockwork).outcome == "stuck"
    assert clockwork.shards.get([P])[P].cursor == rows[0].key
    assert visit(clockwork).outcome == "dry"


def test_the_chain_of_a_quarantined_pointer_goes_on_and_each_fire_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    named = Named(every_ms=30_000, catch_up="all")
    clockwork, partition_id = named.clockwork, named.job.partition_id
    silent = Silent(clockwork, monkeypatch, "acme")
    for _ in range(6):
        clockwork.clock.advance(MINUTE_MS)
        assert clockwork.poll(partition_id).quarantined == 1
    silent.client_ids.clear()
    for _ in range(3):
        clockwork.clock.advance(MINUTE_MS)
        assert clockwork.poll(partition_id).quarantined == 0
    bodies = [message.body for message in clockwork.queue.messages.values()]
    due_at = sorted(one.occurrence.due_at for body in bodies for one in codec.decode_message(body))
    assert due_at == [named.start + 30_000 * number for number in range(1, len(due_at) + 1)]
    assert len(due_at) >= 20


@pytest.mark.parametrize("what", ["another timing", "pause and resume"])
def test_a_job_that_is_changed_while_its_pointer_is_in_quarantine_loses_no_fire(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Named(every_ms=30_000, catch_up="all")
    clockwork, partition_id = named.clockwork, named.job.partition_id
    with monkeypatch.context() as broken:
        Silent(clockwork, broken, "acme")
        clockwork.clock.advance(MINUTE_MS)
        clockwork.poll(partition_id)
    if what == "another timing":
        named.change(changes.replaced(named.definition(every_ms=20_000, catch_up="all"), b'"y"'))
    else:
        named.change(changes.paused("incident"))
        named.change(changes.resumed(None))
    clockwork.run_until(clockwork.clock.at + 200_000)
    delivered = [one.occurrence.due_at for one in clockwork.targets.delivered]
    assert named.start + 30_000 in delivered
    assert len(delivered) == len(set(delivered))


def test_what_a_newer_version_may_have_written_is_recorded_with_its_bytes_at_the_end_of_its_rows_life() -> None:
    clockwork = ready()
    row = msgspec.structs.replace(job_row("acme", 5), blob=b"\xf9never read")
    clockwork.timeline.put([row, job_row("globex", 6)])
    lives_ms = clockwork.settings.row_retention_seconds * 1_000
    assert visit(clockwork).quarantined == 1
    clockwork.clock.advance(row.expires_at - lives_ms // PARTS - clockwork.clock.at - 2 * MINUTE_MS)
    for _ in range(20):
        visit(clockwork)
    ((state, raw),) = [(one.state, one.kept.raw) for one in clockwork.executions.all()]
    assert (state, raw) == (State.DEAD, row.blob)
    assert kept(clockwork) == []
    assert clockwork.shards.get([P])[P].quarantined == 0


def test_in_an_ordered_shard_the_later_work_of_the_client_waits_behind_and_no_other_work_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = ready("o000")
    rows = [
        pointer_row("out", 1, "o000"),
        *(job_row(client_id, 2 + number, "o000", ordering_key="k") for number, client_id in enumerate(("out", "fine"))),
    ]
    clockwork.timeline.put(rows)
    silent = Silent(clockwork, monkeypatch, "out")
    clockwork.clock.advance(10)
    # A new poller each time: it learns from the quarantine whose order is held.
    for number in range(2):
        report = poll_ordered_shard(clockwork.world, "o000", clockwork.clock.at + 12_000, near_ms=0)
        assert (report.outcome, report.quarantined) in {("out_of_time", 2 + number), ("dry", 2 + number)}
        clockwork.timeline.put([job_row("out", clockwork.clock.at - NOW + 1, "o000", ordering_key="k")])
        clockwork.clock.advance(20_000)
    assert sent(clockwork) == []
    assert [one.client_id for one in ordered(clockwork)] == ["fine"]
    silent.client_ids.clear()
    poll_ordered_shard(clockwork.world, "o000", clockwork.clock.at + 12_000, near_ms=0)
    assert [one.client_id for one in ordered(clockwork)] == ["fine", "out", "out", "out"]
    due_at = [one.due_at for one in ordered(clockwork) if one.client_id == "out"]
    assert due_at == sorted(due_at)
    assert kept(clockwork, "o000") == []


def ordered(clockwork: MemoryClockwork) -> list[Any]:
    """The messages that were sent to the ordered queue, in the order of sending."""
    queue = clockwork.ordered_queue
    return [one.occurrence for message in queue.messages.values() for one in codec.decode_message(message.body)]


def test_an_ordered_shard_in_whose_quarantine_too_many_wait_is_stuck(monkeypatch: pytest.MonkeyPatch) -> None:
    clockwork = ready("o000")
    clients = [f"out-{number}" for number in range(3)]
    clockwork.timeline.put([pointer_row(one, number, "o000") for number, one in enumerate(clients)])
    Silent(clockwork, monkeypatch, *clients)
    monkeypatch.setattr(quarantine, "MOST_HELD", 2)
    clockwork.clock.advance(10)
    poll_ordered_shard(clockwork.world, "o000", clockwork.clock.at + 12_000, near_ms=0)
    clockwork.clock.advance(30_000)
    assert poll_ordered_shard(clockwork.world, "o000", clockwork.clock.at + 12_000, near_ms=0).outcome == "stuck"
