"""One client among many: caps, pauses and broken targets hold back one client and nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain import parking
from clockwork.domain.circuits import WINDOW, Circuit, Ratio
from clockwork.domain.clients import Client
from clockwork.domain.codec import decode_release
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import FINAL, Outcome, State
from clockwork.domain.jobs import HttpTarget, Payload, RetryPolicy
from clockwork.domain.parking import LONGEST_PARKING_MS, NOTED_MS, Parked, parking_of
from clockwork.domain.permits import BLOCK, LONGEST_NO_PERMIT_MS, NO_PERMIT_MS, SLOW_MS, blocks_of, cap_of, wait_ms
from clockwork.domain.releases import Delivery
from clockwork.domain.timeline import Page, Row
from clockwork.flows.authorise import Caller
from clockwork.flows.cancel import cancel_job
from clockwork.flows.create import create_jobs
from clockwork.flows.let_go import LetGoReport, let_go
from clockwork.flows.registry import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from tests.examples import ACME, ALICE, execution, failure, new_job, request, success

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))
#: So many outcomes open a circuit here.
LEAST = Settings.for_local().circuit_least_outcomes


class Regulated:
    """A Clockwork in memory with the client acme, whose targets do as `accepts` says."""

    def __init__(self, **client: Any) -> None:
        self.clockwork = MemoryClockwork(answer=self._answer)
        self.start = self.clockwork.clock.at
        self.accepts = True
        self.takes_ms = 0
        self.set_client(**client)

    def set_client(self, **client: Any) -> None:
        self.clockwork.clients.put(msgspec.structs.replace(ACME, **client))

    def _answer(self, _: Delivery) -> Outcome:
        now = self.clockwork.clock.now()
        if self.accepts:
            return msgspec.structs.replace(success(now), ended_at=now + self.takes_ms)
        return failure(started_at=now, ended_at=now)

    def create(self, count: int, **job: Any) -> list[str]:
        jobs = [new_job(**{"delay_ms": 5_000, **job}) for _ in range(count)]
        return [
            j.job_id for j in create_jobs(self.clockwork.world, request(*jobs), ensure_shards(self.clockwork.world))
        ]

    def run(self, seconds: float) -> list[Delivery]:
        before = len(self.clockwork.targets.delivered)
        self.clockwork.run_until(self.clockwork.clock.at + int(seconds * 1000))
        return self.clockwork.targets.delivered[before:]

    def states(self) -> set[State]:
        return {record.state for record in self.clockwork.executions.all()}

    def sweep(self) -> LetGoReport:
        return let_go(self.clockwork.world, self.clockwork.clock.at + 60_000)

    @property
    def parked(self) -> int:
        return len(self.clockwork.timeline._rows.get(parking_of("acme"), {}))


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_rate_cap_spreads_a_herd_and_loses_nothing(record: str) -> None:
    regulated = Regulated(max_rate_per_second=10.0)
    regulated.create(100, record=record)
    # A batch that is held for its slots runs on for a second or two.
    first = len(regulated.run(5 + 5))
    assert first in range(45, 71)
    assert first + len(regulated.run(6)) == 100
    assert not regulated.clockwork.queue.messages


def test_slots_beyond_the_queues_delay_travel_in_hops() -> None:
    regulated = Regulated(max_rate_per_second=0.01)
    regulated.create(30)
    regulated.run(3_100)
    assert len(regulated.clockwork.targets.delivered) == 30


def test_a_poller_spreads_the_herd_of_a_capped_client_and_reserves_nothing() -> None:
    regulated = Regulated(max_rate_per_second=10.0)
    due_at = regulated.start + 60_000
    regulated.create(100, delay_ms=60_000)
    regulated.clockwork.poll_all()
    run_at = sorted(decode_release(message.body).run_at for message in regulated.clockwork.queue.messages.values())
    assert run_at == [due_at + place * 100 for place in range(100)]
    assert not regulated.clockwork.regulation._next_slot_us
    regulated.create(1, delay_ms=1_000)
    assert len(regulated.run(3)) == 1


def test_a_herd_is_released_though_its_client_cannot_be_read() -> None:
    regulated = Regulated(max_rate_per_second=10.0)
    regulated.create(100, delay_ms=60_000)

    def fail(_: str) -> Client:
        raise Unavailable("throttled")

    regulated.clockwork.clients.get = fail  # type: ignore[method-assign]
    regulated.clockwork.poll_all()
    assert len(regulated.clockwork.queue.messages) == 100


def test_a_client_without_a_cap_reserves_no_slot() -> None:
    regulated = Regulated()
    regulated.create(15)
    regulated.run(10)
    assert not regulated.clockwork.regulation._next_slot_us
    assert not regulated.clockwork.regulation._blocks


def test_retries_take_slots_of_their_own() -> None:
    regulated = Regulated(max_rate_per_second=1.0)
    regulated.accepts = False
    regulated.create(5, retry_policy=RetryPolicy(max_attempts=2, backoff="none"))
    regulated.run(30)
    assert regulated.clockwork.regulation._next_slot_us["acme"] // 1000 >= regulated.start + 5_000 + 10_000


def test_a_concurrency_cap_lets_so_many_go_and_the_rest_later() -> None:
    regulated = Regulated(max_concurrency=3)
    regulated.create(10)
    first = regulated.run(5.5)
    assert len(first) == 3
    assert len(regulated.run(30)) == 7


def test_permits_are_given_back_as_soon_as_their_deliveries_have_ended() -> None:
    regulated = Regulated(max_concurrency=BLOCK)
    regulated.create(3)
    assert len(regulated.run(6)) == 3
    now = regulated.clockwork.clock.at
    assert regulated.clockwork.regulation.lease("acme", 0, "other", now, now + 1)


def test_permits_of_what_is_never_started_are_given_back() -> None:
    regulated = Regulated(max_concurrency=BLOCK)
    (job_id,) = regulated.create(1)
    regulated.run(4)
    assert cancel_job(regulated.clockwork.world, MINE, job_id).verdict == "cancelled"
    assert regulated.run(6) == []
    now = regulated.clockwork.clock.at
    assert regulated.clockwork.regulation.lease("acme", 0, "other", now, now + 1)


def test_a_client_without_a_cap_needs_permits_only_while_its_targets_are_slow() -> None:
    regulated = Regulated()
    regulated.takes_ms = SLOW_MS - 1
    regulated.create(60)
    assert len(regulated.run(10)) == 60
    regulated.takes_ms = SLOW_MS
    regulated.create(1)
    regulated.run(10)
    now = regulated.clockwork.clock.at
    for block in range(blocks_of(cap_of(ACME, regulated.clockwork.settings.deliverer_concurrency)).count):
        assert regulated.clockwork.regulation.lease("acme", block, "other", now, now + 40_000)
    regulated.create(5)
    assert regulated.run(20) == []
    assert len(regulated.run(40)) == 5


def test_an_environment_without_a_block_of_permits_waits_for_one() -> None:
    regulated = Regulated(max_concurrency=BLOCK)
    now = regulated.start
    assert regulated.clockwork.regulation.lease("acme", 0, "other", now, now + 20_000)
    regulated.create(5)
    assert regulated.run(15) == []
    assert len(regulated.run(25)) == 5


def test_what_waits_behind_a_full_cap_looks_less_and_less_often() -> None:
    regulated = Regulated(max_concurrency=1)
    hour_ms = 3_600_000
    assert regulated.clockwork.regulation.lease("acme", 0, "other", regulated.start, regulated.start + hour_ms)
    regulated.create(1)
    looks = []
    for seconds in (600, 2_900):
        regulated.run(seconds)
        (message,) = regulated.clockwork.queue.messages.values()
        looks.append(decode_release(message.body).waits)
    assert 12 <= looks[0] <= 20
    assert 2_900 / 120 - 1 <= looks[1] - looks[0] <= 2_900 / 60 + 1
    assert len(regulated.run(230)) == 1


@pytest.mark.parametrize("waits", [0, 1, 5, 20, 10_000])
@pytest.mark.parametrize("fraction", [0.0, 0.999])
def test_the_wait_for_a_permit_grows_and_is_bounded(waits: int, fraction: float) -> None:
    wait = wait_ms(waits, fraction)
    assert NO_PERMIT_MS <= wait < 2 * LONGEST_NO_PERMIT_MS
    assert wait <= wait_ms(waits + 1, fraction)


@pytest.mark.parametrize(("cap", "count", "size"), [(1, 1, 1), (9, 1, 9), (10, 1, 10), (25, 2, 10), (200, 20, 10)])
def test_blocks_never_exceed_the_cap(cap: int, count: int, size: int) -> None:
    blocks = blocks_of(cap)
    assert (blocks.count, blocks.size) == (count, size)
    assert blocks.count * blocks.size <= cap


def test_a_client_without_a_cap_may_take_a_share() -> None:
    assert cap_of(None, 100) == 200
    assert cap_of(ACME, 1) == BLOCK
    assert cap_of(msgspec.structs.replace(ACME, max_concurrency=7), 100) == 7


@pytest.mark.parametrize("record", ["full", "none"])
def test_a_paused_client_loses_nothing_and_is_not_hit_by_everything_at_once(record: str) -> None:
    regulated = Regulated(paused=True, pause_reason="incident")
    regulated.create(40, record=record)
    assert regulated.run(60) == []
    assert regulated.parked == 40
    assert not regulated.clockwork.queue.messages
    if record == "full":
        assert regulated.states() == {State.SIDELINED}
    assert regulated.sweep().left == 1
    regulated.set_client()
    assert regulated.sweep().released == 40
    assert len(regulated.run(4)) in range(15, 25)
    assert len(regulated.run(60)) in range(15, 25)
    assert regulated.parked == 0
    assert len({d.execution_id for d in regulated.clockwork.targets.delivered}) == 40
    regulated.run(60)
    regulated.sweep()
    assert not regulated.clockwork.regulation.parked()


def test_a_parked_job_is_found_and_cancelled() -> None:
    regulated = Regulated(paused=True)
    (job_id,) = regulated.create(1)
    regulated.run(10)
    assert cancel_job(regulated.clockwork.world, MINE, job_id).verdict == "cancelled"
    regulated.set_client()
    regulated.sweep()
    assert regulated.run(60) == []


def test_a_target_that_keeps_failing_is_left_alone_probed_and_then_gets_its_backlog() -> None:
    regulated = Regulated()
    regulated.accepts = False
    steady = RetryPolicy(max_attempts=3, backoff="fixed", initial_seconds=1, jitter="none")
    regulated.create(LEAST, retry_policy=steady)
    regulated.run(8)
    assert regulated.clockwork.regulation.circuits("acme")
    regulated.create(20, retry_policy=steady)
    tried = len(regulated.run(20))
    assert tried <= 1
    assert regulated.parked >= 19
    regulated.accepts = True
    regulated.create(1, delay_ms=40_000, retry_policy=steady)
    regulated.run(90)
    assert not regulated.clockwork.regulation.circuits("acme")
    for _ in range(3):
        regulated.sweep()
        regulated.run(60)
    assert regulated.parked == 0
    assert regulated.states() <= {State.SUCCEEDED, State.DEAD}


def test_another_host_of_the_client_is_not_held_back() -> None:
    regulated = Regulated()
    regulated.accepts = False
    regulated.create(LEAST, retry_policy=RetryPolicy(max_attempts=1))
    regulated.run(8)
    regulated.accepts = True
    regulated.create(3, target=HttpTarget("https://other.example/hook"))
    assert len(regulated.run(10)) == 3


def test_a_target_that_fails_for_one_payload_only_delivers_the_others_and_opens_no_circuit() -> None:
    regulated = Regulated()
    bad, good = (Payload(body) for body in (b"1", b"2"))
    now = regulated.clockwork.clock.now
    regulated.clockwork.targets._answer = lambda d: (
        failure(started_at=now(), ended_at=now()) if d.occurrence.payload == bad else success(now())
    )
    once_more = RetryPolicy(max_attempts=4, backoff="none")
    for _ in range(10):
        regulated.create(5, payload=good, retry_policy=once_more)
        regulated.create(1, payload=bad, retry_policy=once_more)
    regulated.run(20)
    states = [record.state for record in regulated.clockwork.executions.all()]
    assert (states.count(State.SUCCEEDED), states.count(State.DEAD)) == (50, 10)
    assert not regulated.clockwork.regulation.circuits("acme")


def test_a_success_opens_no_circuit_whatever_went_before_it() -> None:
    ratio = Ratio()
    for _ in range(LEAST - 1):
        ratio.note(failure())
    ratio.note(success(0))
    assert not ratio.is_failing(LEAST)
    ratio.note(failure())
    assert ratio.is_failing(LEAST)


def test_a_few_failures_open_no_circuit_and_half_of_many_do() -> None:
    least = Settings.for_account().circuit_least_outcomes
    few = Ratio()
    for _ in range(least - 1):
        few.note(failure())
    assert not few.is_failing(least)
    few.note(failure())
    assert few.is_failing(least)
    after_successes = Ratio()
    for _ in range(1_000):
        after_successes.note(success())
    for _ in range(WINDOW // 2 - 1):
        after_successes.note(failure())
    assert not after_successes.is_failing(least)
    after_successes.note(failure())
    assert after_successes.is_failing(least)


def test_what_is_wrong_with_payloads_opens_no_circuit() -> None:
    regulated = Regulated()
    regulated.clockwork.targets._answer = lambda d: failure(permanent=True)
    regulated.create(30)
    regulated.run(10)
    assert not regulated.clockwork.regulation.circuits("acme")


def test_parked_occurrences_are_let_go_by_hand_at_a_chosen_rate() -> None:
    regulated = Regulated(paused=True)
    regulated.create(30)
    regulated.run(10)
    regulated.set_client()
    regulated.clockwork.regulation.direct_parked(Parked("acme", rate=1.0, by_hand=True))
    regulated.sweep()
    assert len(regulated.run(10)) in range(8, 13)


def test_what_is_let_go_by_hand_goes_at_the_chosen_rate_to_the_end_though_its_circuit_is_open() -> None:
    regulated = Regulated()
    now = regulated.start
    regulated.clockwork.regulation.save_circuit(None, Circuit("acme", "example.com", now, now + 900_000, 900_000))
    regulated.create(150)
    regulated.run(10)
    assert regulated.parked == 150
    regulated.clockwork.regulation.direct_parked(Parked("acme", rate=1.0, by_hand=True))
    regulated.sweep()
    first = len(regulated.run(60))
    regulated.sweep()
    assert first in range(50, 61)
    assert len(regulated.run(60)) in range(58, 67)


def test_parked_occurrences_are_discarded_by_hand_those_that_come_later_are_not() -> None:
    regulated = Regulated(paused=True)
    regulated.create(30)
    regulated.create(2, delay_ms=30_000)
    regulated.run(10)
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.clockwork.clock.at))
    regulated.run(30)
    assert regulated.sweep().discarded == 30
    assert regulated.states() == {State.SKIPPED, State.SIDELINED}
    assert regulated.parked == 2
    regulated.set_client()
    assert regulated.sweep().released == 2
    assert len(regulated.run(60)) == 2


def test_what_was_parked_just_before_it_was_due_is_discarded_too() -> None:
    regulated = Regulated(paused=True)
    regulated.create(1, delay_ms=5_900)
    regulated.run(5.5)
    assert regulated.parked == 1
    regulated.clockwork.regulation.direct_parked(Parked("acme", discard_until=regulated.clockwork.clock.at))
    assert regulated.sweep().discarded == 1


def test_what_is_parked_again_before_its_row_is_forgotten_is_not_lost() -> None:
    regulated = Regulated(paused=True)
    regulated.create(1)
    regulated.run(10)
    regulated.set_client()
    forget = regulated.clockwork.timeline.forget

    def parked_meanwhile(partition_id: str, row_keys: Any) -> None:
        regulated.clockwork.timeline.forget = forget  # type: ignore[method-assign]
        regulated.set_client(paused=True)
        regulated.run(5)
        forget(partition_id, row_keys)

    regulated.clockwork.timeline.forget = parked_meanwhile  # type: ignore[method-assign]
    regulated.sweep()
    assert regulated.parked == 1
    regulated.set_client()
    regulated.sweep()
    assert len(regulated.run(10)) == 1


def test_a_note_of_parked_occurrences_outlives_whoever_may_still_park_under_it() -> None:
    regulated = Regulated(paused=True)
    regulated.create(1)
    regulated.run(10)
    (noted,) = regulated.clockwork.regulation.parked()
    regulated.set_client()
    regulated.sweep()
    regulated.run(NOTED_MS / 1000)
    regulated.sweep()
    assert list(regulated.clockwork.regulation.parked()) == [noted]
    regulated.run(LONGEST_PARKING_MS / 1000)
    regulated.sweep()
    assert not regulated.clockwork.regulation.parked()


def test_who_parks_so_slowly_that_its_note_is_forgotten_says_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(paused=True)
    timeline, clock = regulated.clockwork.timeline, regulated.clockwork.clock
    put_new = timeline.put_new

    def put_late(rows: Sequence[Row]) -> None:
        clock.at += NOTED_MS + LONGEST_PARKING_MS + 1
        regulated.set_client()
        regulated.sweep()
        assert not regulated.clockwork.regulation.parked()
        put_new(rows)

    regulated.create(1)
    regulated.clockwork.poll_all()
    clock.at += 5_000
    monkeypatch.setattr(timeline, "put_new", put_late)
    regulated.clockwork.deliver_visible()
    regulated.set_client()
    regulated.sweep()
    assert len(regulated.run(10)) == 1


def test_a_note_is_kept_if_something_was_parked_after_its_rows_were_read(monkeypatch: pytest.MonkeyPatch) -> None:
    regulated = Regulated(paused=True)
    regulated.create(1)
    regulated.run(10)
    regulated.set_client()
    regulated.sweep()
    timeline, clock = regulated.clockwork.timeline, regulated.clockwork.clock
    (noted,) = regulated.clockwork.regulation.parked()
    read = timeline.read

    def read_and_sleep(*asked: Any) -> Page:
        page = read(*asked)
        clock.at += NOTED_MS + LONGEST_PARKING_MS
        return page

    monkeypatch.setattr(timeline, "read", read_and_sleep)
    let_go(regulated.clockwork.world, clock.at + 600_000)
    assert list(regulated.clockwork.regulation.parked()) == [noted]


@pytest.mark.parametrize("state", State)
def test_what_has_ended_or_goes_on_is_not_discarded(state: State) -> None:
    ended = parking.discarded(execution(state), "not wanted")
    assert (ended is None) == (state in FINAL or state is State.RUNNING)
    assert ended is None or (ended.state, ended.revision) == (State.SKIPPED, 2)


def test_one_clients_pause_is_nobody_elses() -> None:
    regulated = Regulated(paused=True)
    other = type(ACME)(client_id="other", principals=())
    regulated.clockwork.clients.put(other)
    wish = request(new_job(delay_ms=5_000))
    theirs = type(wish)(client=other, jobs=wish.jobs)
    create_jobs(regulated.clockwork.world, theirs, ensure_shards(regulated.clockwork.world))
    regulated.create(5)
    assert [d.occurrence.client_id for d in regulated.run(20)] == ["other"]
