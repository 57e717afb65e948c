"""A chain that is long behind: each repeat of a resume goes on where the one before came to, and no pointer expires."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.named.changes import paused, replaced, resumed
from clockwork.domain.releases import Release
from clockwork.domain.timeline import Row
from clockwork.flows.named.repair import check_chain
from clockwork.flows.named.write import unchanged
from clockwork.ports import Refused
from tests.support.named import Named

#: How many fires a call releases before it puts a mark.
ROUND = 500
#: The seconds of the pause, in which as many fires came due.
PAUSE = 6 * ROUND


class Dies(BaseException):
    """The api's time is over."""


class Backlog(Named):
    """A job that fires every second, with `catchUp: all`, after a long pause. A call dies after so many sends."""

    def __init__(self) -> None:
        super().__init__(every_ms=1_000, catch_up="all")
        self.change(paused(None))
        self.clockwork.clock.at += PAUSE * 1_000
        self.clockwork.poll_all()
        self.sent: list[int] = []
        self.lives = 10**9
        send = self.clockwork.queue.send

        def counted(releases: Sequence[Release], now: int) -> Sequence[Refused]:
            if self.lives == 0:
                raise Dies
            self.lives -= 1
            self.sent += [release.occurrence.due_at for release in releases]
            return send(releases, now)

        self.clockwork.queue.send = counted  # type: ignore[method-assign,assignment]

    def call(self, lives: int) -> bool:
        """Resume, or repeat that, for at most so many sends; returns whether the call lived to answer."""
        self.lives = lives
        try:
            if self.stored.paused_at is None:
                unchanged(self.clockwork.world, self.stored)
            else:
                self.change(resumed(None))
        except Dies:
            return False
        return True

    def missing(self) -> int:
        """How many fires of the pause were never sent."""
        return len({self.start + number * 1_000 for number in range(1, PAUSE)} - set(self.sent))


def test_repeats_of_a_resume_that_dies_come_to_its_end() -> None:
    backlog = Backlog()
    # Each repeat sends its first round once more, and goes on behind the last mark.
    assert [backlog.call(3) for _ in range(3)] == [False, False, True]
    assert backlog.missing() == 0
    assert len(backlog.sent) < PAUSE + 5 * ROUND
    assert not check_chain(backlog.clockwork.world, backlog.stored)


def test_a_resume_that_lives_sends_each_fire_once() -> None:
    backlog = Backlog()
    assert backlog.call(10**9)
    assert backlog.missing() == 0
    assert len(backlog.sent) == len(set(backlog.sent))


def test_the_audit_goes_on_where_a_resume_died() -> None:
    backlog = Backlog()
    assert not backlog.call(4)
    before = len(backlog.sent)
    backlog.lives = 10**9
    assert check_chain(backlog.clockwork.world, backlog.stored)
    assert backlog.missing() == 0
    assert len(backlog.sent) - before <= PAUSE - 2 * ROUND


def test_a_change_of_timing_goes_on_where_a_resume_died() -> None:
    backlog = Backlog()
    assert not backlog.call(4)
    before = len(backlog.sent)
    backlog.lives = 10**9
    backlog.change(replaced(backlog.definition(every_ms=3_000), b'"slower"'))
    assert backlog.missing() == 0
    assert len(backlog.sent) - before <= PAUSE - 2 * ROUND


def test_a_mark_is_put_behind_what_it_tells_of(monkeypatch: pytest.MonkeyPatch) -> None:
    backlog = Backlog()

    def unanswered(*_: object) -> Sequence[Refused]:
        raise Unavailable("the queue gives no answer")

    with monkeypatch.context() as patch:
        patch.setattr(backlog.clockwork.queue, "send", unanswered)
        with pytest.raises(Unavailable):
            backlog.change(resumed(None))
    assert backlog.call(10**9)
    assert backlog.missing() == 0


def test_another_resume_knows_nothing_of_the_marks_of_the_one_before() -> None:
    backlog = Backlog()
    assert backlog.call(10**9)
    backlog.change(paused(None))
    backlog.clockwork.clock.at += PAUSE * 1_000
    backlog.clockwork.poll_all()
    backlog.sent.clear()
    backlog.change(resumed(None))
    assert len(set(backlog.sent)) >= PAUSE


def test_the_pointers_of_a_poller_that_is_behind_live_as_long_as_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordered chain advances by one fire at a time: else its rows could expire before the poller has caught up."""
    named = Named(every_ms=600_000, catch_up="all", ordering_key="one by one", sequence=1)
    clockwork, put_new = named.clockwork, named.clockwork.timeline.put_new
    kept_for: list[int] = []

    def noting(rows: Sequence[Row]) -> None:
        kept_for.extend(row.expires_at - clockwork.clock.at for row in rows)
        put_new(rows)

    named.run(5)
    clockwork.clock.at += 2 * 86_400_000
    monkeypatch.setattr(clockwork.timeline, "put_new", noting)
    named.run(30)
    assert len(kept_for) > 100
    assert min(kept_for) >= clockwork.world.retention.rows_ms
