"""Owed work: what a shard's field names, for how long, and how much of it."""

from __future__ import annotations

import pytest

from clockwork.domain import ids
from clockwork.domain.ids import AnonymousJob, ExecutionId, NamedJobId
from clockwork.domain.keys import row_key
from clockwork.domain.lifecycle.owed import (
    MOST_OWED,
    TRIED_FOR_MS,
    OwedFire,
    Untold,
    fires_in,
    owed_of,
    rows_owed,
    tag_of,
    with_owed,
)
from tests.support.examples import NOW

KEY, OTHER = row_key(NOW, "x" * 22), row_key(NOW + 1, "y" * 22)
FIRE = str(ExecutionId(NamedJobId("acme", "daily", 3).job_id, NOW, "0"))
BY_HAND = str(ExecutionId(NamedJobId("acme", "daily", 3).job_id, NOW, "r1"))
BACKFILLED = str(ExecutionId(NamedJobId("acme", "daily", 3).job_id, NOW, "b1-_"))
ANONYMOUS = str(ExecutionId(AnonymousJob("p000", KEY, 0).job_id, NOW, "0"))


def test_the_tag_of_a_fire_tells_all_that_its_release_is_made_of() -> None:
    assert tag_of(FIRE, 7) == f"3.7.{NOW}"
    assert fires_in([tag_of(FIRE, 7)]) == [OwedFire(3, 7, NOW)]
    assert fires_in([tag_of(BACKFILLED, 7)]) == [OwedFire(3, 7, NOW, "b1-_")]


def test_the_tag_of_a_fire_of_a_client_whose_id_was_had_before_names_it_too() -> None:
    """Its incarnation is an instant (ms)."""
    fire = str(ExecutionId(NamedJobId("acme", "daily", 1_777_975_200_001).job_id, NOW, "0"))
    assert fires_in([tag_of(fire, 7)]) == [OwedFire(1_777_975_200_001, 7, NOW)]


def test_the_tag_of_any_other_execution_is_a_digest_and_names_no_fire() -> None:
    tags = [tag_of(BY_HAND, 7), tag_of(ANONYMOUS), tag_of(FIRE)]
    assert tags == [ids.derive("owed", one) for one in (BY_HAND, ANONYMOUS, FIRE)]
    assert fires_in(tags) == []


def test_fires_are_found_in_order() -> None:
    assert fires_in(["1.10.1700000000000", "1.9.1700000000001", "0.99.1700000000000", "1.9.17"]) == [
        OwedFire(0, 99, NOW),
        OwedFire(1, 9, NOW + 1),
        OwedFire(1, 10, NOW),
    ]


def test_what_is_owed_is_named_once_and_read_back_row_by_row() -> None:
    owed: str | None = ""
    for untold in (Untold(KEY, "why", FIRE, 7), Untold(KEY, "why", FIRE, 7), Untold(OTHER, "why"), Untold(KEY, "why")):
        assert owed is not None
        owed = with_owed(owed, untold, NOW)
    assert owed == f"{KEY}/3.7.{NOW} {OTHER} {KEY}"
    assert rows_owed(owed) == {KEY: None, OTHER: None}
    assert rows_owed(f"{KEY} {KEY}/a") == {KEY: None}
    some = {KEY: frozenset({"b", "a"}), OTHER: None}
    assert owed_of(some) == f"{KEY}/a {KEY}/b {OTHER}"
    assert rows_owed(owed_of(some)) == some


@pytest.mark.parametrize(("after_ms", "is_owed"), [(TRIED_FOR_MS - 1, True), (TRIED_FOR_MS, False)])
def test_work_is_owed_until_so_long_after_its_instant(after_ms: int, is_owed: bool) -> None:
    assert with_owed("", Untold(KEY, "why"), NOW + after_ms) == (KEY if is_owed else None)
    # What is named already is not named again, however old it is.
    assert with_owed(KEY, Untold(KEY, "why"), NOW + after_ms) == KEY


def test_no_shard_owes_more_than_so_much() -> None:
    owed = ""
    for number in range(MOST_OWED):
        more = with_owed(owed, Untold(row_key(NOW + number, "x" * 22), "why"), NOW)
        assert more is not None
        owed = more
    assert with_owed(owed, Untold(row_key(NOW - 1, "x" * 22), "why"), NOW) is None
    assert len(owed.split()) == MOST_OWED
