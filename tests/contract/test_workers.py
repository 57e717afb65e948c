"""The contract of `ports.Workers`: what each pool has heard of its workers."""

from __future__ import annotations

import msgspec

from clockwork.domain.pools.presence import (
    NOTED_EVERY_MS,
    RENEWED_EVERY_MS,
    Present,
    is_news,
)
from tests.contract.worlds import World
from tests.support.examples import NOW

FIRST = Present(pool="etl", worker_id="host-1", seen_at=NOW, running=("a.1.0", "b.1.0"), started_late_ms=40)


def test_a_worker_is_told_as_it_was_noted_last(world: World) -> None:
    later = msgspec.structs.replace(FIRST, seen_at=NOW + 1, running=())
    for seen in (FIRST, later, msgspec.structs.replace(FIRST, worker_id="host-0")):
        world.workers.note(seen)
    world.workers.note(msgspec.structs.replace(FIRST, pool="et"))
    assert list(world.workers.list("etl", 10)) == [msgspec.structs.replace(FIRST, worker_id="host-0"), later]
    assert [one.worker_id for one in world.workers.list("etl", 1)] == ["host-0"]
    assert list(world.workers.list("et", 10)) == [msgspec.structs.replace(FIRST, pool="et")]
    assert list(world.workers.list("gone", 10)) == []


def test_a_note_is_written_when_something_changed_once_a_minute_at_most_and_now_and_then() -> None:
    same = msgspec.structs.replace(FIRST, running=("b.1.0", "a.1.0"), seen_at=NOW + RENEWED_EVERY_MS - 1)
    other = msgspec.structs.replace(FIRST, running=("b.1.0",), seen_at=NOW + NOTED_EVERY_MS)
    assert is_news(None, FIRST)
    assert is_news(FIRST, other)
    assert not is_news(FIRST, msgspec.structs.replace(other, seen_at=NOW + NOTED_EVERY_MS - 1))
    assert not is_news(FIRST, same)
    assert is_news(FIRST, msgspec.structs.replace(same, seen_at=NOW + RENEWED_EVERY_MS))
