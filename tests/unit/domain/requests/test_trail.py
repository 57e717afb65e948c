"""Pages of a trail as the client sees them that has its id now."""

from __future__ import annotations

import pytest

from clockwork.domain.errors import Undecodable, Unreadable
from clockwork.domain.requests.trail import Entry, TrailPage, since

DAMAGED = Undecodable("damaged")


def entry(at: int) -> Entry:
    return Entry(client_id="acme", at=at, entry_id="e", principal="p", action="a", expires_at=0)


def before(at: int) -> str:
    return entry(at).key


@pytest.mark.parametrize(
    ("page", "kept", "goes_on"),
    [
        (TrailPage([entry(9), entry(7)], before(7)), 2, True),
        (TrailPage([entry(9), DAMAGED, entry(7)], before(7)), 3, True),
        (TrailPage([DAMAGED], before(5)), 1, True),
        (TrailPage([DAMAGED], before(4)), 1, False),
        (TrailPage([entry(9), entry(5)], None), 2, False),
        (TrailPage([entry(9), entry(4)], before(4)), 1, False),
        (TrailPage([entry(9), DAMAGED, entry(4), DAMAGED], before(2)), 2, False),
        (TrailPage([], None), 0, False),
    ],
)
def test_an_entry_that_cannot_be_read_does_not_hide_older_ones(page: TrailPage, kept: int, goes_on: bool) -> None:
    shown = since(page, 5)
    assert list(shown.entries) == list(page.entries[:kept])
    assert shown.next_before == (page.next_before if goes_on else None)
    assert all(isinstance(one, Unreadable) or one.at >= 5 for one in shown.entries)
