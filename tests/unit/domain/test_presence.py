"""The workers that a pool has heard of: what is noted, what an environment remembers, and what a list tells."""

from __future__ import annotations

from msgspec.structs import replace

from clockwork.domain.pools.presence import (
    HOUR_MS,
    KEPT_MS,
    NOTED_EVERY_MS,
    Present,
    Remembered,
    is_news,
    newest,
    reaches_back,
)

#: An hour begins here.
AT = 470_000 * HOUR_MS
FIRST = Present(pool="etl", worker_id="host-1", seen_at=AT, running=("a.1.0", "b.1.0"), started_late_ms=40)


def named(name: str, at: int = AT, pool: str = "etl") -> Present:
    return replace(FIRST, worker_id=name, seen_at=at, pool=pool)


def test_a_note_is_written_when_something_changed_once_a_minute_at_most_and_in_each_hour() -> None:
    same = replace(FIRST, running=("b.1.0", "a.1.0"), seen_at=AT + HOUR_MS - 1)
    other = replace(FIRST, running=("b.1.0",), seen_at=AT + NOTED_EVERY_MS)
    assert is_news(None, FIRST)
    assert is_news(FIRST, other)
    assert not is_news(FIRST, replace(other, seen_at=AT + NOTED_EVERY_MS - 1))
    assert not is_news(FIRST, same)
    assert is_news(FIRST, replace(same, seen_at=AT + HOUR_MS))
    assert not is_news(same, replace(same, seen_at=AT + HOUR_MS))


def test_of_each_worker_the_last_note_counts_and_those_seen_last_come_first() -> None:
    notes = [named("a", AT - HOUR_MS), named("b", AT + 5), named("a", AT + 9), named("b", AT), named("c", AT - 1)]
    assert newest(notes, AT + 10) == [notes[2], notes[1], notes[4]]
    assert newest(notes, AT - 1 + KEPT_MS) == [notes[2], notes[1]]
    assert newest(notes, AT + 9 + KEPT_MS) == []


def test_a_list_has_all_that_are_at_work_once_it_reaches_beyond_the_hour_before() -> None:
    now = AT + HOUR_MS // 2
    assert reaches_back([named("a"), named("b", AT - HOUR_MS - 1)], now)
    assert not reaches_back([named("a"), named("b", AT - HOUR_MS)], now)


def test_an_environment_forgets_the_worker_that_was_noted_first_and_never_one_of_another_pool() -> None:
    remembered = Remembered(2)
    remembered.keep(named("mine", pool="gpu"))
    for number, name in enumerate(("a", "b", "a", "c")):
        remembered.keep(named(name, AT + number))
    assert remembered.last("etl", "b") is None
    assert [one and one.seen_at for one in (remembered.last("etl", "a"), remembered.last("etl", "c"))] == [
        AT + 2,
        AT + 3,
    ]
    assert remembered.last("gpu", "mine") == named("mine", pool="gpu")


def test_no_more_workers_of_a_pool_are_noted_in_a_minute_than_are_remembered() -> None:
    remembered = Remembered(2)
    for name in ("a", "b"):
        assert remembered.has_room(named(name))
        remembered.keep(named(name))
    assert not remembered.has_room(named("c", AT + NOTED_EVERY_MS - 1))
    assert remembered.has_room(named("a", AT + 1))
    assert remembered.has_room(named("c", AT + 1, "gpu"))
    assert remembered.has_room(named("c", AT + NOTED_EVERY_MS))


def test_what_has_ended_is_named_no_more_in_its_pool() -> None:
    remembered = Remembered()
    for pool in ("etl", "gpu"):
        remembered.keep(named("a", pool=pool))
    remembered.drop("etl", {"a.1.0", "z.1.0"})
    remembered.drop("none", {"a.1.0"})
    found = [remembered.last(pool, "a") for pool in ("etl", "gpu")]
    assert [one and one.running for one in found] == [("b.1.0",), ("a.1.0", "b.1.0")]
