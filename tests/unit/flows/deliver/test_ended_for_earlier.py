"""Messages of named jobs whose record a pause or a change has ended, for earlier revisions of the job or for all."""

from __future__ import annotations

import pytest

from clockwork.domain.executions import DAY_MS, End, State
from clockwork.domain.fires.chains import release_of
from clockwork.domain.recurrence import Fire
from clockwork.domain.releases import Deliver
from tests.support.named import Named

BOTH = pytest.mark.parametrize("ended_by", [1, 2], ids=["for earlier ones", "for itself"])


def sent_behind_an_end(named: Named, ended_by: int) -> Deliver:
    """The release of the first fire, whose record a pause has ended."""
    due_at = named.clockwork.clock.at + 10_000
    release = release_of(named.job, Fire(due_at, due_at, 1))
    expires_at = named.clockwork.clock.at + 100 * DAY_MS
    paused = release.first_record(State.SKIPPED, expires_at, reason="its job is paused", end=End(ended_by=ended_by))
    named.clockwork.executions.save([(None, paused)])
    return release


@BOTH
def test_a_message_of_days_goes_on_from_a_record_that_was_ended_for_earlier_ones(ended_by: int) -> None:
    named = Named(every_ms=10_000)
    clockwork = named.clockwork
    release = sent_behind_an_end(named, ended_by)
    clockwork.clock.advance(4 * DAY_MS)
    clockwork.queue.messages.clear()
    assert not clockwork.world.releases.send([release], clockwork.clock.now())
    clockwork.deliver_visible()
    (stored,) = named.executions()
    assert stored.state is (State.SUCCEEDED if ended_by == 1 else State.SKIPPED)
    assert [one.state for one in stored.attempts] == ([State.SUCCEEDED] if ended_by == 1 else [])
    assert not clockwork.queue.messages


@BOTH
def test_a_message_that_is_too_late_ends_what_was_ended_for_earlier_ones(ended_by: int) -> None:
    named = Named(every_ms=10_000, relevancy_window_seconds=60)
    clockwork = named.clockwork
    release = sent_behind_an_end(named, ended_by)
    clockwork.clock.advance(4 * DAY_MS)
    clockwork.queue.messages.clear()
    assert not clockwork.world.releases.send([release], clockwork.clock.at)
    clockwork.deliver_visible()
    (stored,) = named.executions()
    assert stored.state is (State.EXPIRED if ended_by == 1 else State.SKIPPED)
    assert not clockwork.queue.messages


@BOTH
def test_an_ordered_message_that_has_waited_too_long_ends_what_was_ended_for_earlier_ones(ended_by: int) -> None:
    named = Named(every_ms=600_000, ordering_key="k", sequence=0)
    clockwork = named.clockwork
    release = sent_behind_an_end(named, ended_by)
    assert not clockwork.world.releases.send([release], clockwork.clock.at)
    clockwork.clock.advance(13 * DAY_MS)
    clockwork.deliver_ordered()
    (stored,) = named.executions()
    assert stored.state is (State.DEAD if ended_by == 1 else State.SKIPPED)
    assert not clockwork.ordered_queue.messages
