"""The judges see what they are for: each is shown a history that is right, and others that are wrong."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from types import ModuleType
from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import Client
from clockwork.domain.executions import State
from clockwork.domain.ids import AnonymousJob, NamedJobId
from clockwork.domain.keys import row_key
from clockwork.domain.lifecycle.parking import parking_of
from clockwork.domain.lifecycle.retries import backoff_seconds
from clockwork.domain.limits.circuits import Circuit
from clockwork.domain.releases import Deliver, Delivery, Travels
from clockwork.domain.storage.rows import row_of_job
from clockwork.domain.timeline import Row
from clockwork.domain.waits import Held, Line
from clockwork.flows.deliver import claim as claims
from clockwork.flows.deliver import concurrency
from clockwork.flows.poll import expand
from clockwork.memory.clock import MemoryClock
from clockwork.memory.timeline import MemoryTimeline
from clockwork.memory.world import MemoryClockwork
from clockwork.targets.http import HttpTarget
from clockwork.targets.kafka.target import KafkaTarget
from clockwork.targets.message import Payload
from clockwork.targets.pool import PoolTarget
from tests.simulation.caps import BURST_SECONDS, WINDOW_MS, Caps
from tests.simulation.decisions import decisions, raising
from tests.simulation.defects import DEFECTIVE, Defect, Defects, Meets
from tests.simulation.faults import SHORT_LIVES
from tests.simulation.lines import Lines
from tests.simulation.outages import LONGEST_MS, PLACED_AT, PLACES, TIMES, Outage, Place
from tests.simulation.requests import COMPLETIONS, DELAYS_MS, REGULATED, RETRY_POLICIES
from tests.simulation.retention import LONG_PAUSE_MS, SLOW_RETRIES
from tests.simulation.run import Run, profile_of
from tests.simulation.scheduler import Actor, Scheduler
from tests.simulation.slots import CLOCKS_APART_MS
from tests.simulation.stage import DRAIN_BOUND_MS
from tests.simulation.turns import Turns
from tests.support.examples import NOW, execution, occurrence, release, watch_like

CLIENT = REGULATED.client_id
ODD = DEFECTIVE[0]
RATE = REGULATED.max_rate_per_second or 0.0
INTERVAL_MS = 1000 / RATE
RELEASE = release(occurrence=occurrence(client_id=CLIENT))
TO_KAFKA = release(occurrence=occurrence(target=KafkaTarget("jobs")))
PACED = RELEASE.waiting(paced=True)


def an_actor() -> Actor:
    return Actor(Scheduler(MemoryClock(NOW), random.Random(0)), "deliverer", lambda _: None)


def objection(caps: Caps, actor: Actor, attempt: int, at: int = NOW) -> str | None:
    """The judge's objection to an attempt that begins at `at` and is over at once."""
    return caps.objection(actor, CLIENT, (RELEASE.execution_id, attempt), at, at)


@pytest.fixture
def caps() -> Caps:
    return Caps({CLIENT: REGULATED})


def test_an_attempt_uses_the_slot_that_its_invocation_took(caps: Caps) -> None:
    one, other = an_actor(), an_actor()
    assert caps.reserved(one, CLIENT, NOW - 9_000, 2, INTERVAL_MS) is None
    assert objection(caps, one, 1) is None
    assert objection(caps, one, 1) is None, "a message that comes twice keeps its slot"
    assert objection(caps, other, 2) == "attempt 2 begins, and no slot was taken for it"


def test_an_attempt_uses_the_slot_that_its_release_or_its_record_tells(caps: Caps) -> None:
    one, other = an_actor(), an_actor()
    caps.reserved(one, CLIENT, NOW, 2, INTERVAL_MS)
    assert caps.sent(one, PACED) is None
    waiting = execution(State.PENDING, client_id=CLIENT, attempt=1, next_attempt_at=NOW + 500, paced=True)
    caps.noted(one, waiting)
    caps.noted(one, waiting.changed(attempt=2))
    assert [objection(caps, other, attempt, NOW + 500) is None for attempt in (1, 2, 3)] == [True, True, False]


def test_a_second_message_of_an_attempt_may_tell_an_earlier_slot_that_was_free_before_it_was_due(caps: Caps) -> None:
    one, other = an_actor(), an_actor()
    caps.reserved(one, CLIENT, NOW - 9_000, 1, INTERVAL_MS)
    caps.reserved(other, CLIENT, NOW + 9_000, 1, INTERVAL_MS)
    assert caps.sent(other, msgspec.structs.replace(PACED, run_at=NOW + 9_000)) is None
    assert objection(caps, an_actor(), 1, PACED.occurrence.due_at) is not None
    assert caps.sent(one, msgspec.structs.replace(PACED, run_at=PACED.occurrence.due_at)) is None
    assert objection(caps, an_actor(), 1, PACED.occurrence.due_at) is None


def test_an_attempt_does_not_begin_before_its_slot(caps: Caps) -> None:
    actor = an_actor()
    caps.reserved(actor, CLIENT, NOW, 1, INTERVAL_MS)
    caps.sent(actor, PACED)
    assert objection(caps, actor, 1, NOW - CLOCKS_APART_MS) is None
    assert objection(caps, actor, 1, NOW - CLOCKS_APART_MS - 1) == "attempt 1 begins 3001 ms before its slot"


def test_what_was_parked_has_no_slot_any_more(caps: Caps) -> None:
    actor = an_actor()
    caps.reserved(actor, CLIENT, NOW, 1, INTERVAL_MS)
    assert caps.sent(actor, PACED) is None
    unparked = msgspec.structs.replace(PACED, travels=Travels(parkings=1))
    assert caps.sent(an_actor(), unparked) == "attempt 1 is sent as if it had a slot, parked 1 times"
    assert caps.sent(an_actor(), unparked.waiting(paced=False)) is None


def test_an_invocation_may_tell_the_slot_with_which_it_has_begun_an_attempt(caps: Caps) -> None:
    one, other = an_actor(), an_actor()
    caps.reserved(one, CLIENT, NOW, 1, INTERVAL_MS)
    assert objection(caps, one, 1) is None
    unparked = msgspec.structs.replace(PACED, travels=Travels(parkings=1))
    assert caps.sent(other, unparked) is not None
    assert caps.sent(one, unparked) is None
    assert caps.sent(one, unparked.for_attempt(2)) is not None


def test_of_attempts_that_are_sent_together_the_one_without_a_slot_gets_what_was_taken(caps: Caps) -> None:
    actor = an_actor()
    other = msgspec.structs.replace(PACED, of=msgspec.structs.replace(PACED.of, run="r1"))
    caps.reserved(actor, CLIENT, NOW - 9_000, 1, INTERVAL_MS)
    assert caps.sent(actor, PACED) is None
    caps.reserved(actor, CLIENT, NOW, 1, INTERVAL_MS)
    turns = [one for one in caps.in_turn([PACED, other]) if isinstance(one, Deliver)]
    assert turns == [other, PACED]
    assert [caps.sent(actor, one) for one in turns] == [None, None]


def test_no_slot_is_given_away_twice(caps: Caps) -> None:
    assert caps.reserved(an_actor(), CLIENT, NOW, 3, INTERVAL_MS) is None
    assert caps.reserved(an_actor(), CLIENT, NOW + 1_000, 1, INTERVAL_MS) is not None
    assert caps.reserved(an_actor(), CLIENT, NOW + 1_500, 1, INTERVAL_MS) is None


@pytest.mark.parametrize(("more", "is_right"), [(0, True), (1, False)])
def test_the_starts_of_each_window_are_counted(caps: Caps, more: int, *, is_right: bool) -> None:
    caps.knows_slots = False
    most = int(RATE * (WINDOW_MS / 1000 + BURST_SECONDS)) + 1
    for number in range(most + more):
        objection(caps, an_actor(), number, NOW + WINDOW_MS - 1 if number else NOW)
    assert (caps.rate_objection() is None) == is_right


def of_the_odd_client(timeline: MemoryTimeline, seed: int = 0) -> Defects:
    return Defects(ODD, timeline, NOW, BUSY_MS, random.Random(seed))


def test_defects_know_whose_a_call_is_by_its_ids_its_rows_and_its_partition() -> None:
    timeline = MemoryTimeline()
    rows = [row_of_job("p000", one.ljust(22, "x"), occurrence(client_id=one), NOW) for one in (ODD, "acme")]
    timeline.put(rows)
    defects = of_the_odd_client(timeline)
    for row, is_ours in zip(rows, (True, False), strict=True):
        job_id = AnonymousJob("p000", row.key, 0).job_id
        named = NamedJobId(ODD if is_ours else "acme", "key", 1).job_id
        client_id = ODD if is_ours else "acme"
        for about in ([row], job_id, (f"{job_id}.{NOW}.0",), named, parking_of(client_id), client_id, {1: named}):
            assert defects.mentions(about) is is_ours, about


def test_a_call_that_is_stuck_raises_each_time_for_a_while_and_never_for_others() -> None:
    found = set()
    for seed in range(20):
        defects = of_the_odd_client(MemoryTimeline(), seed)
        for at in range(NOW, NOW + BUSY_MS, 20_000):
            found.add(defects.at(at, "releases.send", [RELEASE]))
            found.add(defects.at(at, "releases.send", ODD))
    assert found == {None, Meets.PERHAPS, Meets.SURELY}
    assert defects.at(NOW, "releases.send", [RELEASE]) is None


def test_every_decision_about_the_client_with_defects_may_raise_and_no_other() -> None:
    defects, told = of_the_odd_client(MemoryTimeline()), []
    ours = Client(client_id=ODD)

    def strikes(decision: str, about: object) -> bool:
        told.extend([decision] if defects.mentions(about) else [])
        return defects.mentions(about)

    is_expired, limit_of = (partial(_decide, *place) for place in ((claims, "is_expired"), (concurrency, "limit_of")))
    released = partial(_decide, expand, "release_of")
    with raising(strikes):
        assert not is_expired(occurrence(), NOW)
        with pytest.raises(Defect, match="limit_of"):
            limit_of(ours)
        with pytest.raises(Defect, match="release_of"):
            released(Row("p000", row_key(NOW, "x"), b"", NOW), 0, occurrence(client_id=ODD))
        with pytest.raises(Defect, match="is_expired"):
            is_expired(occurrence(client_id=ODD), NOW)
    assert told == ["limit_of", "release_of", "is_expired"]
    assert limit_of(ours) is None


def _decide(module: ModuleType, name: str, *args: object) -> Any:
    """The answer of the module's decision of this name, whichever function the name stands for now."""
    return getattr(module, name)(*args)


def test_decisions_of_every_kind_of_work_may_raise() -> None:
    rooms = {module.__name__.split(".")[2] for module, _, _ in decisions()}
    assert rooms >= {"deliver", "poll", "sweep", "named", "deaths", "access"}


BUSY_MS, HERD_MS = 1_500_000, 700_000
#: By place: a call, its items and what it is about, and the items that fail while the place is out.
CALLS: dict[str, tuple[str, Sequence[object], Sequence[object], set[int]]] = {
    "one client's named jobs": ("jobs.get", [None], ([("other", "a"), (PLACED_AT, "a")],), {0}),
    "one client's records": (
        "executions.save",
        [(None, execution(State.PENDING, client_id=one)) for one in ("other", PLACED_AT)],
        (),
        {1},
    ),
    "one transport": ("releases.send", [PACED, TO_KAFKA], (), {1}),
    "one client's limits": ("regulation.lease", [None], (PLACED_AT, 3), {0}),
}


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_a_port_is_out_at_its_place_alone_and_for_less_than_pollers_read_ahead(place: Place) -> None:
    outage = Outage(place, NOW, BUSY_MS, NOW + HERD_MS, random.Random(0))
    call, items, about, failing = CALLS[place.name]
    struck = [at for at in range(NOW, NOW + BUSY_MS, 1_000) if outage.struck(at, call, items, about)]
    ends = [at for at in struck if at + 1_000 not in struck]
    assert len(ends) >= TIMES - 2
    assert len(struck) <= len(ends) * LONGEST_MS // 1_000
    assert NOW + HERD_MS in struck
    assert outage.struck(struck[0], call, items, about) == failing
    assert outage.struck(struck[0], "timeline.read", items, about) == set()
    assert outage.struck(struck[0], call, [None], ("other",)) == set()
    assert outage.struck(NOW - 1, call, items, about) == set()


def lined(place: int | None, **more: Any) -> Deliver:
    return msgspec.structs.replace(RELEASE.waiting(line=Line(place, NOW)), **more)


def test_no_slot_lies_further_ahead_than_a_minute() -> None:
    lines = Lines(60_000)
    assert lines.reserved(CLIENT, NOW + 1_000, 60, 1_000.0, NOW) is None
    assert lines.reserved(CLIENT, NOW + 61_000, 3, 1_000.0, NOW) is None
    assert lines.reserved(CLIENT, NOW + 64_000, 1, 1_000.0, NOW) == "a slot lies 64000 ms ahead"


@pytest.mark.parametrize(("ended_at", "is_right"), [(NOW - 60_001, False), (NOW - 60_000, True), (None, True)])
def test_what_ended_before_its_invocation_began_takes_no_slot(ended_at: int | None, *, is_right: bool) -> None:
    lines, actor = Lines(60_000), an_actor()
    actor.deadline_at = NOW
    record = msgspec.structs.replace(execution(State.CANCELLED), execution_id=RELEASE.execution_id)
    if ended_at is not None:
        lines.changed(record, ended_at)
    assert (lines.sent(actor, PACED) is None) == is_right


def test_what_was_redriven_may_take_a_slot_again() -> None:
    lines, actor = Lines(60_000), an_actor()
    actor.deadline_at = NOW
    record = msgspec.structs.replace(execution(State.CANCELLED), execution_id=RELEASE.execution_id)
    lines.changed(record, NOW - 90_000)
    lines.changed(msgspec.structs.replace(record, state=State.PENDING), NOW - 80_000)
    assert lines.sent(actor, PACED) is None


def test_an_attempt_has_one_place() -> None:
    lines = Lines(60_000)
    for one in (lined(None), lined(NOW + 90_000), lined(NOW + 90_000), lined(NOW + 200_000, attempt=2)):
        assert lines.sent(an_actor(), one) is None
    assert lines.place_objection() is None
    lines.sent(an_actor(), lined(NOW + 95_000))
    assert lines.place_objection() == f"attempt 1 of {RELEASE.execution_id} was given 2 places"


def test_a_ticket_that_its_check_makes_again_has_a_place_of_its_own() -> None:
    lines, deliverer, worker = Lines(60_000), an_actor(), an_actor()
    deliverer.name, worker.name = "deliverer", "workers<claim"
    target = PoolTarget("etl", "work", timeout_seconds=60)
    first, again, third = (pulled(lined(at), target) for at in (NOW + 90_000, NOW + 150_000, NOW + 200_000))
    lines.sent(worker, first)
    lines.sent(deliverer, pulled(lined(None), target))
    lines.sent(worker, again)
    assert lines.place_objection() is not None, "it has a line, so it is no ticket made again"
    lines.sent(deliverer, first.waiting(line=None))
    assert lines.place_objection() is None
    lines.sent(worker, third)
    assert lines.place_objection() is not None


def test_each_message_that_is_made_of_an_attempt_has_a_place_of_its_own() -> None:
    lines, api, poller, deliverer = Lines(60_000), an_actor(), an_actor(), an_actor()
    api.name, poller.name, deliverer.name = "api<acme create", "poller p000", "deliverer"
    lines.sent(api, RELEASE)
    lines.sent(deliverer, lined(NOW + 90_000))
    lines.sent(deliverer, lined(NOW + 95_000))
    assert lines.place_objection() is not None
    lines.sent(poller, RELEASE)
    assert lines.place_objection() is None


@pytest.mark.parametrize("is_callback", [False, True])
def test_what_follows_a_reported_end_has_a_place_for_each_watch_that_found_it(*, is_callback: bool) -> None:
    lines, reporter, deliverer = Lines(60_000), an_actor(), an_actor()
    reporter.name, deliverer.name = "deliverer of ends", "deliverer"
    ended = release(occurrence=occurrence(client_id=CLIENT, due_at=NOW - 1)) if is_callback else RELEASE
    body = b'{"executionId":"%s"}' % ended.execution_id.encode()
    called = release(occurrence=occurrence(client_id=CLIENT, payload=Payload(body)))
    follows = called if is_callback else RELEASE.for_attempt(2)
    for place in (NOW + 90_000, NOW + 95_000):
        lines.sent(deliverer, follows.waiting(line=Line(place, NOW)))
    lines.told(deliverer, watch_like(ended))
    assert lines.place_objection() is not None, "the first watch travels on, and is one message"
    lines.told(reporter, watch_like(ended))
    assert lines.place_objection() is None
    lines.sent(deliverer, follows.waiting(line=Line(NOW + 99_000, NOW)))
    assert lines.place_objection() is not None


@pytest.mark.parametrize(
    ("line", "ahead_ms", "line_ms", "told"),
    [
        (None, 8_000, 50_000, None),
        (None, 8_001, 43_001, "it has just come, and takes a slot 5001 ms ahead beside a line"),
        (None, 60_000, 43_000, None),  # no line stands
        (Line(NOW + 83_000, NOW), 60_000, 90_000, None),
        (Line(NOW + 83_001, NOW), 23_000, 90_000, None),
        (Line(NOW + 83_001, NOW), 23_001, 90_000, "its turn comes in 80001 ms, and it takes a slot 20001 ms ahead"),
        (Line(NOW + 83_001, NOW - 400_000), 33_000, 90_000, None),
        (
            Line(NOW + 83_001, NOW - 400_000),
            33_001,
            90_000,
            "its turn comes in 80001 ms, and it takes a slot 30001 ms ahead",
        ),
        (Line(None, NOW), 60_000, 90_000, None),
    ],
)
def test_nobody_takes_a_slot_of_those_ahead_of_it(
    line: Line | None, ahead_ms: int, line_ms: int, told: str | None
) -> None:
    lines = Lines(60_000)
    lines.reserved(CLIENT, NOW + ahead_ms - 1_000, 2, 1_000.0, NOW, NOW + line_ms)
    assert lines.sent(an_actor(), msgspec.structs.replace(PACED.waiting(line=line), run_at=NOW + ahead_ms)) == told


def test_what_loses_its_slot_keeps_the_instant_of_it_as_its_place() -> None:
    lines = Lines(60_000)
    lines.sent(an_actor(), lined(NOW + 90_000))
    slot = msgspec.structs.replace(PACED, run_at=NOW + 88_000)
    lines.sent(an_actor(), slot)
    lines.sent(an_actor(), slot.without_slot())
    assert lines.place_objection() is None
    lines.sent(an_actor(), lined(NOW + 89_000))
    assert lines.place_objection() is not None


def pulled(release: Deliver, target: PoolTarget) -> Deliver:
    occurrence = msgspec.structs.replace(release.occurrence, target=target)
    return msgspec.structs.replace(release, occurrence=occurrence)


@pytest.mark.parametrize(
    ("wanted_at", "started_at", "is_right"),
    [
        (NOW, NOW + 104_000, True),  # before any slot passed unused
        (NOW, NOW + 100_000 + 71_000, True),
        (NOW, NOW + 100_000 + 72_000, False),
        (NOW - 300_000, NOW + 100_000 + 225_000, True),
        (NOW - 300_000, NOW + 100_000 + 226_000, False),
        (NOW - 9_000_000, NOW + 100_000 + 995_000, True),
        (NOW - 9_000_000, NOW + 100_000 + 996_000, False),
        (NOW + 1_496_000, NOW + 1_900_000, True),  # wanted when they had passed
    ],
)
def test_who_waits_while_slots_pass_unused_starts_soon(wanted_at: int, started_at: int, *, is_right: bool) -> None:
    lines = Lines(60_000)
    lines.reserved(CLIENT, NOW + 60_000, 40, 1_000.0, NOW)
    lines.reserved(CLIENT, NOW + 1_500_000, 1, 1_000.0, NOW + 1_500_000)
    assert (lines.start_objection(CLIENT, wanted_at, started_at) is None) == is_right
    assert lines.start_objection("other", wanted_at, started_at) is None


def test_the_time_in_which_others_have_the_slots_is_no_time_in_which_they_pass_unused() -> None:
    lines = Lines(60_000)
    lines.reserved(CLIENT, NOW + 60_000, 1, 1_000.0, NOW + 60_000)
    lines.reserved(CLIENT, NOW + 101_000, 59, 1_000.0, NOW + 101_000)  # 40 s have passed, then others have a minute
    assert lines.start_objection(CLIENT, NOW, NOW + 160_000) is None
    lines.reserved(CLIENT, NOW + 200_000, 1, 1_000.0, NOW + 200_000)  # 40 s more
    assert lines.start_objection(CLIENT, NOW, NOW + 191_000) is None
    assert lines.start_objection(CLIENT, NOW, NOW + 192_000) == (
        "slots passed unused for 72000 ms while it waited, 192000 ms in all"
    )


def test_where_lives_are_short_pauses_and_retries_last_longer() -> None:
    """Else no record could go too early, and whatever keeps it would be judged by nothing."""
    seed = next(seed for seed in range(1_000) if profile_of(seed) is SHORT_LIVES)
    kept_ms = MemoryClockwork(Run(seed).settings).world.retention.named_ms
    for lasts_ms in (LONG_PAUSE_MS, *(1_000 * policy.initial_seconds for policy in SLOW_RETRIES)):
        assert lasts_ms > kept_ms


def test_a_run_drains_for_as_long_as_a_job_may_honestly_take() -> None:
    """Else a message of a late attempt is taken for one that is left for ever."""
    attempt_seconds = max(completion.timeout_seconds for completion in COMPLETIONS)
    starts_ms = max(LONG_PAUSE_MS, *(last for _, last in DELAYS_MS))
    for policy in (*RETRY_POLICIES, *SLOW_RETRIES):
        waits = sum(backoff_seconds(policy, failures, 1.0) for failures in range(1, policy.max_attempts))
        assert starts_ms + (policy.max_attempts * attempt_seconds + waits) * 1000 < DRAIN_BOUND_MS


@pytest.mark.parametrize(
    ("attempt", "held", "is_right"), [(1, None, True), (2, None, False), (2, Held("circuit", NOW), True)]
)
def test_a_retry_that_has_not_waited_probes_no_circuit(attempt: int, held: Held | None, *, is_right: bool) -> None:
    turns, one, other = Turns(), an_actor(), an_actor()
    of = occurrence(target=HttpTarget("https://example.com/"))
    release = msgspec.structs.replace(RELEASE.waiting(held=held), occurrence=of, attempt=attempt)
    delivery = Delivery(release.execution_id, release.job_id, attempt, of, NOW + 60_000)
    turns.sent(release)
    circuit = Circuit(of.client_id, "example.com", NOW, NOW, 1_000)
    assert turns.start_objection(one, delivery) is None
    turns.saved(one, None, circuit)
    turns.saved(one, circuit, msgspec.structs.replace(circuit, probe_at=NOW + 1_000, waits=True))
    assert turns.start_objection(one, delivery) is None, "it was opened, and given back"
    turns.saved(one, circuit, msgspec.structs.replace(circuit, probe_at=NOW + 1_000))
    assert (turns.start_objection(one, delivery) is None) == is_right
    assert turns.start_objection(other, delivery) is None
