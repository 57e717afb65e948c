"""Circuits as pure decisions: who may go while one is open, how long each cooldown is, and when one opens."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.executions import State
from clockwork.domain.limits.circuits import (
    LONGEST_COOLDOWN_MS,
    MOST_CIRCUITS,
    WINDOW,
    Circuit,
    Passage,
    Ratio,
    host_of,
    in_excess,
    plan_passage,
    unprobed,
)
from clockwork.targets.http import HttpTarget
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import NOW, failure, success

OPEN = Circuit("acme", "example.com", NOW - 60_000, NOW, 60_000, revision=3)


def test_without_a_circuit_everything_goes() -> None:
    assert plan_passage(None, NOW) == (Passage.FREE, None)


def test_from_the_instant_of_the_probe_on_one_goes_and_the_next_waits_twice_as_long() -> None:
    assert plan_passage(OPEN, NOW - 1) == (Passage.PARK, None)
    later = Circuit("acme", "example.com", NOW - 60_000, NOW + 120_000, 120_000, revision=4)
    assert plan_passage(OPEN, NOW) == (Passage.PROBE, later)


@pytest.mark.parametrize(
    ("cooldown_ms", "next_ms"),
    [(299_999, 599_998), (300_000, 600_000), (300_001, LONGEST_COOLDOWN_MS), (600_000, LONGEST_COOLDOWN_MS)],
)
def test_a_cooldown_never_grows_beyond_the_longest(cooldown_ms: int, next_ms: int) -> None:
    _, later = plan_passage(msgspec.structs.replace(OPEN, cooldown_ms=cooldown_ms), NOW)
    assert later is not None
    assert (later.cooldown_ms, later.probe_at) == (next_ms, NOW + next_ms)


@pytest.mark.parametrize(
    ("waits", "has_slot", "passage"),
    [
        (False, False, Passage.PARK),
        (False, True, Passage.PARK),
        (True, False, Passage.PARK),
        (True, True, Passage.PROBE),
    ],
)
def test_what_has_its_slot_goes_before_a_probe_that_still_waits_for_one(
    waits: bool, has_slot: bool, passage: Passage
) -> None:
    circuit = msgspec.structs.replace(OPEN, probe_at=NOW + 1, waits=waits)
    assert plan_passage(circuit, NOW, has_slot=has_slot)[0] is passage
    assert plan_passage(circuit, NOW)[0] is Passage.PARK


def test_a_probe_that_was_not_started_leaves_the_cooldown_as_it_was_before() -> None:
    _, probing = plan_passage(OPEN, NOW)
    assert probing is not None
    again = unprobed(probing, NOW + 7)
    assert again == msgspec.structs.replace(OPEN, probe_at=NOW + 7, revision=5, waits=True)


def test_only_a_webhook_has_a_circuit_that_of_its_host() -> None:
    assert host_of(HttpTarget("https://example.com:8443/hook")) == "example.com:8443"
    assert host_of(SqsTarget("arn:aws:sqs:us-east-1:123456789012:orders")) is None
    assert host_of(HttpTarget("no url at all")) is None


@pytest.mark.parametrize(
    ("outcomes", "least", "opens"),
    [
        ("", 1, False),
        ("f", 1, True),
        ("f", 2, False),
        ("ff", 2, True),
        ("sf", 2, True),
        ("ssf", 3, False),
        ("fs", 2, False),
        ("ffp", 3, False),
        ("pf", 2, True),
        ("ppf", 3, False),
        ("ft", 2, True),
    ],
)
def test_a_circuit_opens_when_half_of_enough_outcomes_were_failures_of_the_target(
    outcomes: str, least: int, opens: bool
) -> None:
    kinds = {"s": success(), "f": failure(), "p": failure(permanent=True), "t": failure(state=State.TIMED_OUT)}
    ratio = Ratio()
    for one in outcomes:
        ratio.note(kinds[one])
    assert ratio.is_failing(least) is opens


def test_the_ratio_covers_the_last_outcomes_alone_and_none_once_it_starts_anew() -> None:
    ratio = Ratio()
    for outcome in (*[success()] * WINDOW, *[failure()] * (WINDOW // 2)):
        assert not ratio.is_failing(1)
        ratio.note(outcome)
    assert ratio.is_failing(WINDOW)
    ratio.forget()
    assert not ratio.is_failing(1)


def test_those_whose_probes_may_come_for_longest_make_room_for_one_more() -> None:
    kept = [msgspec.structs.replace(OPEN, host=f"h{place}", probe_at=NOW + place) for place in range(MOST_CIRCUITS)]
    assert in_excess(kept[:-1], NOW) == []
    assert in_excess(kept, NOW) == kept[:1]
    assert in_excess([OPEN, *kept], NOW) == [OPEN, kept[0]]
    assert in_excess(kept, NOW - 1) is None
