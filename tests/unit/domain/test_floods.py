"""The note of a pool's floods: what it says to senders, for how long, and when it is written anew."""

from __future__ import annotations

import pytest

from clockwork.domain.pools import floods
from clockwork.domain.pools.floods import FLOODS_FOR_MS, NOTED_EVERY_MS, NOTED_FOR_MS, Flood, Overflow, renewed

NOW = 1_700_000_000_000
ACME, QUIET = ("high", "acme"), ("high", "quiet")


def noted(*keys: tuple[str, str], at: int = NOW) -> Overflow:
    made = renewed(None, keys, at)
    assert made is not None
    return made


def test_a_flood_is_noted_for_its_priority_and_ends_by_itself() -> None:
    note = noted(ACME)
    assert note.flooding("high", NOW + FLOODS_FOR_MS - 1) == {"acme"}
    assert note.flooding("low", NOW) == note.flooding("high", NOW + FLOODS_FOR_MS) == set()
    assert note.is_open(NOW + NOTED_FOR_MS - 1)
    assert not note.is_open(NOW + NOTED_FOR_MS)


def test_a_note_by_a_clock_that_is_far_ahead_harms_nobody_and_is_written_over() -> None:
    """One ahead by less than a flood is noted for is believed: it ends soon."""
    ahead = noted(ACME, at=NOW + FLOODS_FOR_MS)
    assert ahead.flooding("high", NOW) == {"acme"}
    far = noted(ACME, at=NOW + FLOODS_FOR_MS + 1)
    assert far.flooding("high", NOW) == set()
    again = renewed(far, [QUIET], NOW)
    assert again is not None
    assert again.flooding("high", NOW) == {"quiet"}
    assert renewed(noted(at=NOW + NOTED_EVERY_MS), [], NOW) == Overflow(NOW)


def test_nothing_is_written_unless_the_note_says_too_little() -> None:
    note = noted(ACME)
    assert renewed(note, [], NOW + NOTED_EVERY_MS - 1) is None
    assert renewed(note, [ACME], NOW + FLOODS_FOR_MS // 2) is None
    later = renewed(note, [ACME], NOW + FLOODS_FOR_MS // 2 + 1)
    assert later is not None
    assert later.floods == (Flood(*ACME, NOW + FLOODS_FOR_MS * 3 // 2 + 1),)
    assert renewed(note, [], NOW + NOTED_EVERY_MS) == Overflow(NOW + NOTED_EVERY_MS)


def test_another_flood_takes_nothing_from_the_first_one() -> None:
    both = renewed(noted(ACME), [QUIET, ("low", "acme")], NOW + 5_000)
    assert both is not None
    assert both.flooding("high", NOW + 5_000) == {"acme", "quiet"}
    assert both.flooding("low", NOW + 5_000) == {"acme"}
    assert both.flooding("high", NOW + FLOODS_FOR_MS) == {"quiet"}


def test_thousands_of_floods_make_no_large_row_and_the_latest_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floods, "MOST_FLOODS", 3)
    old = noted(*(("high", f"old-{number}") for number in range(5)))
    note = renewed(old, [ACME], NOW + 1_000)
    assert note is not None
    assert len(note.floods) == 3
    assert "acme" in note.flooding("high", NOW + 1_000)
