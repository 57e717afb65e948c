"""A queue that refuses releases for minutes holds up nothing that other queues take, and repeats none of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, State
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.releases import Release
from clockwork.domain.storage import codec
from clockwork.domain.storage.rows import releases_of, row_of_job
from clockwork.domain.timeline import Row
from clockwork.flows.poll.ordered_shard import poll_ordered_shard
from clockwork.flows.poll.shard import poll_shard
from clockwork.flows.poll.visit import PollReport, begin_visit
from clockwork.memory.world import MemoryClockwork
from clockwork.ports import Lease, Refused, Saved
from clockwork.targets.kafka.target import KafkaTarget
from tests.support.examples import NOW, occurrence
from tests.support.failing import BACK

P = "p000"
KAFKA = KafkaTarget("orders")


class Throttled:
    """A shard of rows of which every other one is bound for Kafka, whose queue refuses for as long as `refuses`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, rows: int = 180, due_in_ms: int = 60_000) -> None:
        self.clockwork = MemoryClockwork()
        self.clockwork.shards.register(P)
        self.refuses = True
        self.tries: Counter[str] = Counter()
        self.rows = [
            row_of_job(P, f"{n:022d}", self._occurrence(n, self.clockwork.clock.at + due_in_ms), NOW * 2)
            for n in range(rows)
        ]
        self.clockwork.timeline.put(self.rows)
        self._send = self.clockwork.queue.send
        monkeypatch.setattr(self.clockwork.queue, "send", self.send)

    def _occurrence(self, number: int, due_at: int) -> Any:
        made = occurrence(due_at=due_at, record="none")
        return msgspec.structs.replace(made, target=KAFKA) if number % 2 else made

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        """Takes all but those bound for Kafka."""
        self.tries.update(one.job_id for one in releases)
        refused = [i for i, one in enumerate(releases) if self.refuses and one.occurrence.target == KAFKA]
        assert not self._send([one for i, one in enumerate(releases) if i not in refused], now, aligned)
        return [Refused(index, False, "throttled") for index in refused]

    def poll(self) -> PollReport:
        return poll_shard(self.clockwork.world, P, self.clockwork.clock.at + 60_000)

    def visits(self, count: int) -> list[PollReport]:
        """Visits a minute apart, as ticks are."""
        reports = []
        for _ in range(count):
            reports.append(self.poll())
            self.clockwork.clock.advance(60_000)
        return reports

    def sent(self, to_kafka: bool | None = None) -> Counter[str]:
        """How often the queue took each job."""
        return Counter(
            one.job_id
            for message in self.clockwork.queue.messages.values()
            for one in codec.decode_message(message.body)
            if to_kafka is None or (one.occurrence.target == KAFKA) is to_kafka
        )

    @property
    def cursor(self) -> str:
        return self.clockwork.shards.get([P])[P].cursor


def once(jobs: int) -> Callable[[Counter[str]], bool]:
    return lambda sent: len(sent) == jobs and set(sent.values()) == {1}


def test_a_queue_that_takes_everything_is_not_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    throttled = Throttled(monkeypatch)
    throttled.refuses = False
    assert throttled.poll().released == 180
    assert caplog.records == []
    throttled = Throttled(monkeypatch)
    throttled.poll()
    assert {record.__dict__["action"] for record in caplog.records} == {"releases_set_aside"}


def test_what_other_queues_take_is_taken_once_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    throttled = Throttled(monkeypatch)
    reports = throttled.visits(5)
    assert {report.outcome for report in reports} == {"dry"}
    assert [report.set_aside for report in reports] == [90] * 5
    assert once(90)(throttled.sent())
    throttled.refuses = False
    assert throttled.visits(2)[0].set_aside == 0
    assert once(180)(throttled.sent())


def test_a_visit_in_which_nothing_is_refused_warns_of_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    throttled = Throttled(monkeypatch)
    throttled.refuses = False
    assert throttled.visits(1)[0].released > 0
    assert not caplog.records


def test_a_release_that_was_set_aside_is_on_time_if_its_queue_recovers_before_it_is_due(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    throttled = Throttled(monkeypatch, rows=2)
    throttled.visits(1)
    throttled.refuses = False
    throttled.visits(1)
    released = [codec.decode_message(one.body)[0] for one in throttled.clockwork.queue.messages.values()]
    assert [one.run_at for one in released] == [releases_of(row)[0].run_at for row in throttled.rows]


def test_a_visit_tries_each_once_however_many_its_queues_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    throttled = Throttled(monkeypatch, rows=2_400)
    clock, send = throttled.clockwork.clock, throttled.send

    def slow(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        clock.advance(500)
        return send(releases, now)

    monkeypatch.setattr(throttled.clockwork.queue, "send", slow)
    assert throttled.poll().outcome == "dry"
    assert set(throttled.tries.values()) == {1}
    assert len(throttled.tries) == 2_400


@pytest.mark.parametrize("deaths", [1, 3])
def test_a_poller_that_dies_before_it_commits_loses_none_and_multiplies_none(
    monkeypatch: pytest.MonkeyPatch, deaths: int
) -> None:
    throttled = Throttled(monkeypatch, rows=20)

    def die(_: Lease) -> bool:
        raise KeyboardInterrupt

    for _ in range(deaths):
        with monkeypatch.context() as dying:
            dying.setattr(throttled.clockwork.shards, "commit", die)
            with pytest.raises(KeyboardInterrupt):
                throttled.poll()
        throttled.clockwork.clock.advance(60_000)
    throttled.visits(3)
    throttled.refuses = False
    throttled.visits(2)
    assert len(throttled.sent()) == 20
    assert max(throttled.sent(to_kafka=False).values()) <= deaths + 1
    assert max(throttled.sent(to_kafka=True).values()) <= deaths + 1


def test_a_poller_that_is_fenced_meanwhile_loses_none(monkeypatch: pytest.MonkeyPatch) -> None:
    throttled = Throttled(monkeypatch, rows=20)
    send, clockwork = throttled.send, throttled.clockwork

    def overtaken(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        clockwork.clock.advance(100_000)
        monkeypatch.setattr(clockwork.queue, "send", send)
        visit = begin_visit(clockwork.world, P, clockwork.clock.at + 60_000, 240_000)
        assert visit is not None
        return send(releases, now)

    monkeypatch.setattr(clockwork.queue, "send", overtaken)
    assert throttled.poll().outcome == "fenced"
    assert throttled.cursor == keys.BEGINNING
    throttled.refuses = False
    throttled.visits(8)
    assert len(throttled.sent()) == 20
    assert max(throttled.sent().values()) <= 2


def test_where_nothing_can_be_set_aside_the_cursor_stops_at_the_first_that_was_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    throttled = Throttled(monkeypatch, rows=20)

    def throttles(_: Sequence[Row]) -> None:
        raise Unavailable("the table is throttled")

    with monkeypatch.context() as broken:
        broken.setattr(throttled.clockwork.timeline, "put_new", throttles)
        assert throttled.poll().outcome == "stuck"
    assert throttled.cursor == throttled.rows[0].key
    throttled.refuses = False
    assert throttled.visits(1)[0].outcome == "dry"
    assert len(throttled.sent()) == 20


class Odd:
    """One release whose row is refused for a reason of its own, beside others that are set aside."""

    def __init__(self, throttled: Throttled, monkeypatch: pytest.MonkeyPatch) -> None:
        self.job_id = releases_of(throttled.rows[5])[0].job_id
        self._put_new = throttled.clockwork.timeline.put_new
        monkeypatch.setattr(throttled.clockwork.timeline, "put_new", self.put_new)

    def put_new(self, rows: Sequence[Row]) -> None:
        if any(one.job_id == self.job_id for row in rows for one in releases_of(row)):
            raise ValueError("never show this")
        self._put_new(rows)


def no_answer(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
    return [Saved(ok=False, unavailable="no answer") for _ in changes]


def refused(changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
    return [Saved(ok=False, unavailable="too large", is_defect=True) for _ in changes]


@pytest.mark.parametrize("is_recorded", [True, False])
def test_one_whose_row_is_refused_ends_or_is_owed_and_the_others_are_set_aside(
    is_recorded: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    throttled = Throttled(monkeypatch, rows=20)
    odd = Odd(throttled, monkeypatch)
    if not is_recorded:
        monkeypatch.setattr(throttled.clockwork.executions, "save", refused)
    report = throttled.visits(1)[0]
    assert (report.outcome, report.set_aside) == ("dry", 9)
    throttled.refuses = False
    throttled.visits(1)
    assert set(throttled.sent().values()) == {1}
    assert len(throttled.sent()) == (19 if is_recorded else 20)
    ended = [(one.job_id, one.state) for one in throttled.clockwork.executions.all()]
    assert ended == ([(odd.job_id, State.DEAD)] if is_recorded else [])
    assert not [one for one in caplog.records if getattr(one, "action", "") == "death_not_recorded"]
    assert throttled.clockwork.world.environment.faults.take() == (1 if is_recorded else 2)
    assert "never show" not in caplog.text


def test_one_whose_row_is_refused_holds_up_nothing_until_a_store_has_answered_about_its_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    throttled = Throttled(monkeypatch, rows=20)
    odd = Odd(throttled, monkeypatch)
    with monkeypatch.context() as broken:
        broken.setattr(throttled.clockwork.executions, "save", no_answer)
        assert [one.outcome for one in throttled.visits(2)] == ["dry"] * 2
        assert throttled.cursor > throttled.rows[-1].key
    assert throttled.visits(1)[0].outcome == "dry"
    throttled.refuses = False
    throttled.visits(2)
    assert [(one.job_id, one.state) for one in throttled.clockwork.executions.all()] == [(odd.job_id, State.DEAD)]
    assert len(throttled.sent()) == 19
    assert not [one for one in caplog.records if getattr(one, "action", "") == "death_not_recorded"]


def test_one_whose_row_is_refused_holds_up_nothing_until_its_callback_is_placed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    throttled = Throttled(monkeypatch, rows=20)
    kept = msgspec.structs.replace(occurrence(due_at=throttled.clockwork.clock.at + 60_000), on_failure=BACK)
    throttled.rows[5] = row_of_job(P, f"{5:022d}", msgspec.structs.replace(kept, target=KAFKA), NOW * 2)
    throttled.clockwork.timeline.put([throttled.rows[5]])
    Odd(throttled, monkeypatch)
    put_new = throttled.clockwork.timeline.put_new

    def throttles(rows: Sequence[Row]) -> None:
        if any(one.occurrence.target == BACK for row in rows for one in releases_of(row)):
            raise Unavailable("the table is throttled")
        put_new(rows)

    with monkeypatch.context() as broken:
        broken.setattr(throttled.clockwork.timeline, "put_new", throttles)
        assert throttled.visits(1)[0].outcome == "dry"
    assert throttled.visits(1)[0].outcome == "dry"
    messages = [codec.decode_message(one.body)[0] for one in throttled.clockwork.queue.messages.values()]
    assert len([one for one in messages if one.occurrence.target == BACK]) == 1


def test_a_poller_reads_no_record_since_its_role_may_not(monkeypatch: pytest.MonkeyPatch) -> None:
    throttled = Throttled(monkeypatch, rows=20)
    odd = Odd(throttled, monkeypatch)

    def denied(*_: object) -> None:
        raise AssertionError("a poller may not read records")

    for read in ("find", "get", "list"):
        monkeypatch.setattr(throttled.clockwork.executions, read, denied)
    assert throttled.visits(1)[0].outcome == "dry"
    assert [one.job_id for one in throttled.clockwork.executions.all()] == [odd.job_id]


def test_a_record_that_is_not_certain_holds_up_its_row_alone_and_nothing_is_sent_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    throttled = Throttled(monkeypatch, rows=20)
    throttled.refuses = False
    throttled.clockwork.timeline.put([msgspec.structs.replace(throttled.rows[7], blob=b"\x01garbage")])

    with monkeypatch.context() as broken:
        broken.setattr(throttled.clockwork.executions, "save", no_answer)
        assert {report.outcome for report in throttled.visits(5)} == {"dry"}
        assert once(19)(throttled.sent())
    throttled.visits(1)
    assert once(19)(throttled.sent())


def test_an_ordered_shard_waits_at_the_first_that_was_refused_and_keeps_its_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clockwork = MemoryClockwork()
    clockwork.world = clockwork.world.with_(settings=clockwork.settings.with_(ordered_shards=1))
    clockwork.shards.register("o000")
    due = [occurrence(due_at=clockwork.clock.at + n, ordering_key="k", record="full") for n in range(6)]
    rows = [row_of_job("o000", f"{n:022d}", one, NOW * 2) for n, one in enumerate(due)]
    clockwork.timeline.put(rows)
    clockwork.clock.advance(10)
    send = clockwork.world.releases.send
    sent: list[str] = []

    def refusing(releases: Sequence[Release], now: int) -> Sequence[Refused]:
        taken = releases[:2] if len(sent) < 2 else releases
        sent.extend(one.job_id for one in taken)
        assert not send(taken, now)
        return [Refused(index, False, "throttled") for index in range(len(taken), len(releases))]

    monkeypatch.setattr(clockwork.world.releases, "send", refusing)
    for outcome in ("stuck", "dry"):
        assert poll_ordered_shard(clockwork.world, "o000", clockwork.clock.at + 20_000).outcome == outcome
        clockwork.clock.advance(1_000)
    assert sent == [releases_of(row)[0].job_id for row in rows]
