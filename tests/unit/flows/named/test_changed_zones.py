"""The rules of a job's zone change while it is scheduled: its chain goes on by the new ones, whoever reads it first.

Each job fires at minutes 10, 30 and 50 of the town's clock, and was made by rules that do not shift it. It begins at
22:13:20 UTC.
"""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.cron.parser import compile_cron
from clockwork.domain.cron.zones import ruled_by
from clockwork.domain.executions import State
from clockwork.domain.named.changes import cancelled, paused, resumed
from clockwork.domain.named_jobs import Pointer
from clockwork.domain.recurrence import Recurrence
from clockwork.domain.storage.codec import decode_row
from clockwork.flows.named.repair import check_chain
from clockwork.flows.sweep.audit import audit_chains
from tests.support.named import Named
from tests.support.zones import TOWN, town

MINUTE = 60_000


class Townsman(Named):
    """A job of the town. Instants are minutes since the hour in which it began."""

    def __init__(self, **definition: Any) -> None:
        with ruled_by(town(0)):
            recurrence = Recurrence(cron=compile_cron("10,30,50 * * * *"), timezone=TOWN)
            super().__init__(recurrence=recurrence, **definition)
        self.hour = self.start - 13 * MINUTE - 20_000

    def until(self, minute: float) -> list[float]:
        """Lets time pass; returns when the fires that were delivered meanwhile were due."""
        seconds = (self.hour + int(minute * MINUTE) - self.clockwork.clock.at) / 1000
        return [(due + 800) / 60 for due in self.run(seconds)]

    def pointers(self) -> list[float]:
        """Where the pointers lie that nobody has read yet, one entry for each row."""
        shard = self.clockwork.shards.get([self.stored.partition_id])[self.stored.partition_id]
        rows = self.clockwork.timeline.read(shard.partition_id, shard.cursor, "9", 100).rows
        elements = [one for row in rows for one in decode_row(row.blob).values()]
        return [(one.fire.due_at - self.hour) / MINUTE for one in elements if isinstance(one, Pointer)]

    def skipped(self) -> list[tuple[float, int]]:
        """Where skipped stretches begin, and of how many fires they are."""
        stretches = [e.end.skipped for e in reversed(self.executions()) if e.state is State.SKIPPED and e.end.skipped]
        return [((one.from_at - self.hour) / MINUTE, one.count) for one in stretches]


@pytest.mark.parametrize(
    ("shift", "fired"),
    [
        (-5, [15, 35, 55, 75, 95]),  # each fire came to lie later
        (4, [26, 46, 66, 86, 106]),  # earlier, and the first one is caught up with when its pointer is read
        (-20, [30, 50, 70, 90, 110]),  # a whole beat: no instant is another one
    ],
)
def test_no_fire_is_lost_and_none_comes_by_the_rules_of_before(shift: int, fired: list[float]) -> None:
    job = Townsman()
    with ruled_by(town(shift)):
        assert job.until(111) == fired
        assert {e.state for e in job.executions()} == {State.SUCCEEDED}


@pytest.mark.parametrize(
    ("catch_up", "fired", "skipped"),
    [("latest", [14, 34, 54], []), ("all", [14, 34, 54], []), ("none", [34, 54], [(14, 1)])],
)
def test_what_came_to_lie_behind_is_caught_up_with(
    catch_up: str, fired: list[float], skipped: list[tuple[float, int]]
) -> None:
    job = Townsman(catch_up=catch_up)
    with ruled_by(town(16)):
        assert job.until(60) == fired
        assert job.skipped() == skipped


def test_what_was_released_before_fires_at_its_instant_and_the_chain_goes_on_behind_it() -> None:
    job = Townsman()
    with ruled_by(town(0)):
        assert job.until(29.5) == []
        assert job.pointers() == [50]
    with ruled_by(town(-5)):
        assert job.until(80) == [30, 35, 55, 75]


@pytest.mark.parametrize("shift", [-5, 4, 16])
@pytest.mark.parametrize("repair", ["look", "audit"])
def test_a_stale_pointer_and_a_repaired_one_meet(shift: int, repair: str) -> None:
    job, alone = Townsman(), Townsman()
    with ruled_by(town(shift)):
        if repair == "look":
            assert check_chain(job.clockwork.world, job.stored)
        else:
            _audit_all(job)
        assert len(job.pointers()) == 2
        fired = job.until(115)
        assert fired == sorted(set(fired))
        assert len(job.pointers()) == 1
        assert not check_chain(job.clockwork.world, job.stored)
        assert not job.skipped()
        # Who is repaired misses nothing that another one is late with, and fires nothing else.
        assert set(fired) >= set(alone.until(115))


def _audit_all(job: Townsman) -> None:
    """Audits as within a day, in one go."""
    world = job.clockwork.world
    jobs = job.clockwork.jobs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "scan", lambda part, parts: type(jobs).scan(jobs, 0, 1))
        assert audit_chains(world, world.clock.now() + 100_000).repaired == 1


def test_a_repaired_chain_is_in_time_where_its_stale_pointer_would_be_late() -> None:
    job = Townsman(catch_up="none")
    with ruled_by(town(14.5)):  # type: ignore[arg-type]
        check_chain(job.clockwork.world, job.stored)
        assert job.until(60) == [15.5, 35.5, 55.5]
        assert job.skipped() == []


@pytest.mark.parametrize("shift", [-5, 4])
def test_a_pause_over_the_change_ends_by_the_new_rules(shift: int) -> None:
    job = Townsman(catch_up="all")
    with ruled_by(town(0)):
        job.change(paused(None))
    with ruled_by(town(shift)):
        assert job.until(40) == []
        job.change(resumed(None))
        instants = [minute - shift for minute in (10, 30, 50, 70) if 40 > minute - shift > 13.4]
        assert job.until(41) == instants
        assert job.until(80) == [minute - shift for minute in (50, 70) if 40 < minute - shift < 80]


def test_a_stale_pointer_of_a_deleted_job_is_dropped() -> None:
    job = Townsman()
    with ruled_by(town(4)):
        job.change(cancelled(None))
        assert job.until(60) == []
        assert job.pointers() == []
