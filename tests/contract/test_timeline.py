"""The contract of `ports.Timeline`."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

from clockwork.domain import keys
from clockwork.domain.timeline import Page, Row
from clockwork.ports import Timeline
from tests.contract.examples import DUE, row
from tests.contract.races import at_once
from tests.contract.worlds import World

LAST = keys.edge_key(DUE + 10_000)


@pytest.fixture
def timeline(world: World) -> Timeline:
    return world.timeline


def pages(timeline: Timeline, until: str, limit: int) -> list[Page]:
    """Read all pages from the beginning, as a poller does."""
    read = [timeline.read("p000", keys.BEGINNING, until, limit)]
    while read[-1].more:
        read.append(timeline.read("p000", read[-1].rows[-1].key, until, limit))
    return read


def test_a_row_is_found_as_it_was_put(timeline: Timeline) -> None:
    stored = row(blob=bytes(range(256)))
    timeline.put([stored])
    assert timeline.find([("p000", stored.key)]) == [stored]


def test_a_row_expires_no_earlier_than_asked_and_less_than_a_second_later(timeline: Timeline) -> None:
    stored = msgspec.structs.replace(row(), expires_at=DUE + 1)
    timeline.put([stored])
    (found,) = timeline.find([("p000", stored.key)])
    assert found is not None
    assert 0 <= found.expires_at - stored.expires_at < 1_000


@pytest.mark.parametrize("count", [0, 1, 2, 25, 26, 60])
def test_all_rows_of_a_put_are_stored(timeline: Timeline, count: int) -> None:
    rows = [row(DUE + n) for n in range(count)]
    timeline.put(rows)
    assert timeline.read("p000", keys.BEGINNING, LAST, 100).rows == tuple(rows)


def test_rows_of_one_put_may_go_to_several_partitions(timeline: Timeline) -> None:
    rows = [row(partition_id=p) for p in ("p000", "p001")]
    timeline.put(rows)
    assert timeline.find([("p001", rows[1].key), ("p000", rows[0].key)]) == rows[::-1]


def test_put_new_stores_what_is_not_there_yet(timeline: Timeline) -> None:
    rows = [row(DUE + n) for n in range(12)]
    timeline.put(rows[:5])
    timeline.put_new(rows)
    assert timeline.read("p000", keys.BEGINNING, LAST, 100).rows == tuple(rows)


def test_put_new_leaves_a_stored_row_as_it_is(timeline: Timeline) -> None:
    stored = row(blob=b"first")
    timeline.put_new([stored])
    timeline.put_new([row(blob=b"second"), row(DUE + 1)])
    assert timeline.find([("p000", stored.key)]) == [stored]


def test_put_new_does_not_bring_back_what_was_cancelled(timeline: Timeline) -> None:
    stored = row()
    timeline.put_new([stored])
    timeline.cancel("p000", stored.key, 0)
    timeline.put_new([stored])
    (found,) = timeline.find([("p000", stored.key)])
    assert found is not None
    assert found.cancelled == {0}


def test_find_answers_in_the_order_asked_also_for_what_is_missing_or_asked_twice(timeline: Timeline) -> None:
    first, second = row(DUE), row(DUE + 1)
    timeline.put([first, second])
    places = [("p000", second.key), ("p000", "0000000000001#no"), ("p000", first.key), ("p000", second.key)]
    assert timeline.find(places) == [second, None, first, second]


def test_find_of_nothing_is_nothing(timeline: Timeline) -> None:
    assert list(timeline.find([])) == []


def test_find_answers_for_more_rows_than_one_call_to_a_store_takes(timeline: Timeline) -> None:
    rows: list[Row | None] = [row(DUE + n) for n in range(130)]
    timeline.put([r for r in rows if r])
    places = [("p000", r.key) for r in rows if r]
    assert timeline.find([*places, ("p001", places[0][1])]) == [*rows, None]


def test_read_excludes_its_lower_bound_and_includes_its_upper_one(timeline: Timeline) -> None:
    rows = [row(DUE + n) for n in range(4)]
    timeline.put(rows)
    assert timeline.read("p000", rows[0].key, rows[2].key, 100).rows == (rows[1], rows[2])


def test_read_compares_keys_whole_so_rows_of_one_millisecond_are_apart(timeline: Timeline) -> None:
    rows = [row(DUE, row_id) for row_id in ("-x", "A", "A0", "AA", "_", "a")]
    timeline.put(rows)
    assert timeline.read("p000", rows[1].key, rows[4].key, 100).rows == tuple(rows[2:5])


def test_an_edge_lies_behind_every_row_of_its_millisecond_and_before_the_next(timeline: Timeline) -> None:
    rows = [row(DUE - 1, "z"), row(DUE, "z"), row(DUE + 1, "-")]
    timeline.put(rows)
    assert timeline.read("p000", keys.edge_key(DUE - 1), keys.edge_key(DUE), 100).rows == (rows[1],)


@pytest.mark.parametrize("until", [keys.row_key(DUE, "a"), keys.row_key(DUE - 1, "a"), keys.BEGINNING])
def test_an_empty_range_holds_nothing(timeline: Timeline, until: str) -> None:
    timeline.put([row()])
    assert timeline.read("p000", row().key, until, 10) == Page(())


def test_read_sees_its_own_partition_only(timeline: Timeline) -> None:
    timeline.put([row(partition_id="p000"), row(partition_id="p001")])
    assert timeline.read("p001", keys.BEGINNING, LAST, 10).rows == (row(partition_id="p001"),)


def test_read_is_in_key_order_whatever_the_order_of_puts(timeline: Timeline) -> None:
    rows = [row(DUE + n) for n in (3, 0, 2, 1)]
    timeline.put(rows)
    assert timeline.read("p000", keys.BEGINNING, LAST, 10).rows == tuple(sorted(rows, key=lambda r: r.key))


@pytest.mark.parametrize("limit", [1, 3, 7, 8, 100])
def test_page_after_page_shows_every_row_once(timeline: Timeline, limit: int) -> None:
    rows = [row(DUE + n) for n in range(7)]
    timeline.put(rows)
    read = pages(timeline, LAST, limit)
    assert [r for page in read for r in page.rows] == rows
    assert all(len(page.rows) <= limit for page in read)


def test_a_page_is_cut_by_bytes_and_says_that_there_is_more(timeline: Timeline) -> None:
    rows = [row(DUE + n, blob=b"x" * 300_000) for n in range(5)]
    timeline.put_new(rows)
    read = pages(timeline, LAST, 100)
    assert len(read) > 1
    assert [r.key for page in read for r in page.rows] == [r.key for r in rows]


def test_a_cancel_marks_one_element_and_leaves_the_rest_of_the_row(timeline: Timeline) -> None:
    stored = row()
    timeline.put([stored])
    assert timeline.cancel("p000", stored.key, 2)
    assert timeline.cancel("p000", stored.key, 0)
    assert timeline.cancel("p000", stored.key, 2)
    marked = msgspec.structs.replace(stored, cancelled=frozenset({0, 2}))
    assert timeline.find([("p000", stored.key)]) == [marked]
    assert timeline.read("p000", keys.BEGINNING, LAST, 10).rows == (marked,)


def test_a_cancel_of_what_is_not_there_says_so_and_makes_no_row(timeline: Timeline) -> None:
    assert not timeline.cancel("p000", row().key, 0)
    assert timeline.find([("p000", row().key)]) == [None]


def test_a_cancel_and_a_repeated_put_at_once_leave_the_row_cancelled(timeline: Timeline) -> None:
    rows = [row(DUE + n) for n in range(25)]
    timeline.put(rows)
    for stored in rows:
        at_once(partial(timeline.cancel, "p000", stored.key, 0), partial(timeline.put_new, [stored]))
    assert [r.cancelled for r in timeline.read("p000", keys.BEGINNING, LAST, 100).rows] == [{0}] * 25
