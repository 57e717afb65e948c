"""Deaths at the poller: records of rows that cannot be read, and of releases that the queue can never take."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.attempts import plan_death
from clockwork.domain.releases import Release
from clockwork.flows.containment import contained
from clockwork.flows.deaths import call_back, notify_dead
from clockwork.flows.world import World
from clockwork.ports import Saved

if TYPE_CHECKING:
    from clockwork.flows.poll.shard import Visit

log = logging.getLogger(__name__)

#: A release whose death cannot be recorded for a reason of its own is tried again until so long after it was due (ms).
#: Then it is passed: to try for ever would cost work at every visit.
TRIED_FOR_MS = 3_600_000


def bury(visit: Visit, given_up: Sequence[tuple[Release, str]]) -> list[int]:
    """Record releases as DEAD, with the reason, and call back; returns the indexes of those that have to come again.

    One whose record or callback is refused for a reason of its own comes again for TRIED_FOR_MS, since most such
    reasons pass. After that it is logged, and it does not come again.
    """
    world = visit.world
    burials = _Burials(world, [release for release, _ in given_up])
    deaths: list[tuple[int, Execution]] = []
    for index, (release, reason) in enumerate(given_up):
        with contained(world.environment.faults, partial(burials.refused, index), release.execution_id):
            deaths.append((index, _dead(world, release, f"it cannot be released: {reason}")))
    saves = save_deaths(visit, [dead for _, dead in deaths])
    stored: list[tuple[int, Execution | None]] = []
    for (index, dead), saved in zip(deaths, saves, strict=True):
        stored.append((index, dead if saved.ok else saved.actual))
        if is_outage(saved):
            burials.again.add(index)
        elif saved.is_defect:
            burials.refused(index, saved.unavailable or "")
    for one in call_back(world, [(given_up[index][0], record) for index, record in stored]):
        index = stored[one.index][0]
        extra = {"action": "callback_not_placed", "executionId": given_up[index][0].execution_id}
        log.warning("a callback was not placed: %s", one.reason, extra=extra)
        if one.permanent:
            burials.refused(index, one.reason)
        else:
            burials.again.add(index)
    return sorted(burials.again)


class _Burials:
    """Releases that are given up, and the indexes of those that come again."""

    def __init__(self, world: World, releases: Sequence[Release]) -> None:
        self._world, self._now = world, world.clock.now()
        self._releases = releases
        self.again: set[int] = set()

    def refused(self, index: int, why_not: str) -> None:
        """Note that one is refused for a reason of its own."""
        release = self._releases[index]
        if self._now < release.run_at + TRIED_FOR_MS:
            self.again.add(index)
        else:
            _pass(self._world, release.execution_id, why_not)


def save_deaths(visit: Visit, records: Sequence[Execution]) -> Sequence[Saved]:
    """Save the DEAD records of a visit, and send the notices of those that are stored."""
    saves = visit.world.executions.save([(None, record) for record in records]) if records else ()
    stored = [record for record, saved in zip(records, saves, strict=True) if saved.ok]
    notify_dead(visit.world, stored)
    visit.report.dead += len(stored)
    return saves


def save_unreadable(visit: Visit, records: Sequence[Execution]) -> list[int]:
    """Save the DEAD records of rows that cannot be read; returns the indexes of those that have to be saved again.

    A record that is refused for a reason of its own is logged, and its row is passed.
    """
    saves = save_deaths(visit, records)
    for record, saved in zip(records, saves, strict=True):
        if saved.is_defect:
            _pass(visit.world, record.execution_id, saved.unavailable or "")
    return [index for index, saved in enumerate(saves) if is_outage(saved)]


def is_outage(saved: Saved) -> bool:
    """Whether the store gave no answer, for which the poller waits."""
    return saved.unavailable is not None and not saved.is_defect


def _pass(world: World, execution_id: str, why_not: str) -> None:
    told = "a death is not recorded, and its row is passed"
    world.environment.faults.lost("death_not_recorded", told, why_not, executionId=execution_id)


def _dead(world: World, release: Release, reason: str) -> Execution:
    now = world.clock.now()
    return plan_death(release, None, reason, now, world.execution_expires_at(now))
