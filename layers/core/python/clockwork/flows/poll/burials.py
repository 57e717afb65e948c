"""Ends at the poller: records of rows that cannot be read, and of releases that are late or that no queue takes."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.attempts import plan_death
from clockwork.domain.lifecycle.awaited import is_awaited, is_watched
from clockwork.domain.lifecycle.expiry import expired_execution, is_expired
from clockwork.domain.releases import Deliver, Release
from clockwork.flows.containment import contained
from clockwork.flows.deaths import call_back, notify_dead
from clockwork.flows.outages import tolerated
from clockwork.flows.poll.visit import Visit
from clockwork.flows.world import World
from clockwork.ports import Saved

log = logging.getLogger(__name__)


class Unburied(msgspec.Struct, frozen=True):
    """The releases, by their index, that have to come again.

    `waiting`: a store gave no answer about the record or the callback. `refused`: one of them is refused for a reason
    of its own.
    """

    waiting: frozenset[int]
    refused: frozenset[int]


def bury(visit: Visit, given_up: Sequence[tuple[Release, str]]) -> Unburied:
    """Record releases as DEAD, with the reason, and call back; returns those that have to come again.

    A release has to come again as long as a store gives no answer. A refusal for a reason of the release's own counts
    in the same way, since most such reasons pass.
    """
    burials = _Burials(visit, given_up)
    # The record of a retry or a redrive waits for its release. A poller may not read it: the refused save answers with
    # it. If that has changed by the second save, another is at work on it, and the release is read again.
    burials.waiting.update(burials.save(burials.save(dict.fromkeys(range(len(given_up))))))
    burials.call_back()
    return Unburied(frozenset(burials.waiting), frozenset(burials.refused - burials.waiting))


class _Burials:
    """Releases that are given up, their records as stored, and the indexes of those that come again."""

    def __init__(self, visit: Visit, given_up: Sequence[tuple[Release, str]]) -> None:
        self._visit, self._given_up = visit, given_up
        self._now = visit.world.clock.now()
        self._stored: dict[int, Execution | None] = {}
        self.waiting: set[int] = set()
        self.refused: set[int] = set()

    def save(self, known: Mapping[int, Execution | None]) -> dict[int, Execution | None]:
        """Save the death of each in place of its known record; returns those that met another one, which waits."""
        changes: dict[int, tuple[Execution | None, Execution]] = {}
        met: dict[int, Execution | None] = {}
        for index, stored in known.items():
            with self._contained(index):
                changes[index] = (stored, self._dead(index, stored))
        saves = save_deaths(self._visit, list(changes.values()))
        for (index, (_, dead)), saved in zip(changes.items(), saves, strict=True):
            self._stored[index] = dead if saved.ok else saved.actual
            if is_outage(saved):
                self.waiting.add(index)
            elif saved.is_defect:
                self.refused.add(index)
            elif not saved.ok:
                with self._contained(index):
                    release = self._given_up[index][0]
                    if saved.actual is None or is_awaited(release, saved.actual):
                        met[index] = saved.actual
                    elif is_watched(release, saved.actual):
                        # Nobody else would find the end of its claim.
                        self.refused.add(index)
        return met

    def call_back(self) -> None:
        """Place the callbacks of those that are stored as DEAD."""
        ended = [(self._given_up[index][0], record) for index, record in self._stored.items()]
        for one in call_back(self._visit.world, ended):
            index = list(self._stored)[one.index]
            extra = {"action": "callback_not_placed", "executionId": ended[one.index][0].execution_id}
            log.warning("a callback was not placed: %s", one.reason, extra=extra)
            if one.permanent:
                self.refused.add(index)
            else:
                self.waiting.add(index)

    def _dead(self, index: int, stored: Execution | None) -> Execution:
        release, reason = self._given_up[index]
        expires_at = self._visit.world.execution_expires_at(self._now, release.occurrence.retention_days)
        return plan_death(release, stored, reason, self._now, expires_at)

    def _contained(self, index: int) -> contained:
        faults = self._visit.world.environment.faults
        return contained(faults, lambda _: self.refused.add(index), self._given_up[index][0].execution_id)


def expire(world: World, releases: Sequence[Release]) -> set[int]:
    """End releases that come too late as EXPIRED; returns their indexes. The others are to be sent.

    A late release that has a record already, or could not get one, is sent all the same: its claim will decide.
    """
    late: list[tuple[int, Execution]] = []
    now = world.clock.now()
    expires_at = world.execution_expires_at(now)
    # Where this cannot be told the release is sent, and its deliverer decides.
    judging = tolerated(world, log, "expiry not judged: %s", {"action": "expiry_not_judged"})
    for index, release in enumerate(releases):
        with judging:
            if isinstance(release, Deliver) and is_expired(release.occurrence, now):
                late.append((index, expired_execution(release, now, expires_at)))
    saves = world.executions.save([(None, record) for _, record in late]) if late else ()
    return {index for (index, _), saved in zip(late, saves, strict=True) if saved.ok}


def save_deaths(visit: Visit, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
    """Save DEAD records in place of what is known of them, and send the notices of those that are stored."""
    saves = visit.world.executions.save(changes) if changes else ()
    stored = [dead for (_, dead), saved in zip(changes, saves, strict=True) if saved.ok]
    notify_dead(visit.world, stored)
    visit.report.dead += len(stored)
    return saves


def is_outage(saved: Saved) -> bool:
    """Whether the store gave no answer, for which the poller waits."""
    return saved.unavailable is not None and not saved.is_defect
