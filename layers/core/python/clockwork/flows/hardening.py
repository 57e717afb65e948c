"""Hardening: what every actor's world has around its ports, made once where the world is made.

A call about many items answers for each item, whatever one of them raises. A saved record is kept for as long as a row
or a message may name its execution. A release for workers of a pool goes to them, and every other one to our
deliverers.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence, Set

import msgspec

from clockwork.domain.errors import ClockworkError, Unavailable, Undecodable, Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.lifecycle.transitions import refused
from clockwork.domain.messages.alignment import Aligned
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.releases import Release
from clockwork.domain.storage.attention import DeadPage
from clockwork.domain.storage.retention import Retention
from clockwork.domain.storage.runs_index import PlacePage, indexed, is_ending
from clockwork.flows.containment import Faults, contained, for_each, why
from clockwork.flows.sealing import Checks, Tickets
from clockwork.flows.world import Environment, World
from clockwork.ports import Clients, Clock, Executions, Jobs, Listed, Refused, ReleaseQueue, Saved
from clockwork.ports.routing import Routed, by_pool

log = logging.getLogger(__name__)
#: Releases of one piece, if all together raised: one batch of SQS, so that no piece is taken in part.
PIECE = 10


def hardened(world: World) -> World:
    """The world of one actor with its ports hardened. Each world that a flow gets was made by this, once."""
    faults = world.environment.faults
    return world.with_(
        executions=HardenedExecutions(world.executions, world.environment, world.clock, world.retention, world.clients),
        jobs=HardenedJobs(world.jobs, faults),
        releases=hardened_releases(world, world.releases),
    )


def hardened_releases(world: World, releases: ReleaseQueue) -> ReleaseQueue:
    """The release queue of a world over this one, which takes what is not for workers of a pool."""
    after_ms, rows_ms = world.settings.ticket_check_seconds * 1000, world.settings.row_retention_seconds * 1000
    checks = Checks(world.timeline, world.shards, after_ms, rows_ms)
    tickets = Tickets(world.ticket_keys, world.pool_queues, checks, world.pools, world.environment.shares)
    return HardenedReleases(Routed(by_pool(releases, tickets)), world.environment.faults)


class Disallowed(Exception):
    """A change of a record that no row of the table of transitions allows. The text quotes nothing of the record."""


class HardenedExecutions:
    """`ports.Executions` whose saves and reads of several answer for each record, whatever one of them raises.

    A change that the table of transitions does not allow is a defect, and is not saved. Each saved record is kept at
    least for as long as the law asks (`Retention.kept`), and is counted for its client. A record that ends comes into
    the index of its client's runs, if the client has one.
    """

    def __init__(
        self, inner: Executions, environment: Environment, clock: Clock, retention: Retention, clients: Clients
    ) -> None:
        self._inner, self._clock, self._retention, self._clients = inner, clock, retention, clients
        self._faults, self._counters, self._known = environment.faults, environment.counters, environment.listing

    def save(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[Saved]:
        """All together; if that raises, by halves. A record that is stored already counts as saved."""
        now = self._clock.now()
        # Told once: a piece that is saved again saves the same, whatever becomes of the client meanwhile.
        listing = self._listing(self._ending(changes))
        return for_each(lambda some: self._save(some, now, listing), changes, self._refused)

    def get(self, execution_refs: Sequence[tuple[str, str]]) -> Sequence[Execution | Unreadable | None]:
        """All together; if that raises a defect, by halves. Raises Unavailable."""
        return for_each(
            self._inner.get, execution_refs, lambda ref, error: _unreadable(self._faults, error, about=ref[1])
        )

    def find(self, job_id: str, execution_id: str) -> Execution | None:
        """As the port says."""
        return self._inner.find(job_id, execution_id)

    def list(self, job_id: str, limit: int, before: str | None) -> Sequence[Execution]:
        """As the port says."""
        return self._inner.list(job_id, limit, before)

    def between(self, job_id: str, first: str, last: str, limit: int) -> Sequence[Execution]:
        """As the port says."""
        return self._inner.between(job_id, first, last, limit)

    def dead(self, client_id: str, limit: int, behind: str | None, *, oldest_first: bool = False) -> DeadPage:
        """As the port says."""
        return self._inner.dead(client_id, limit, behind, oldest_first=oldest_first)

    def retrying(self, client_id: str, limit: int, behind: str | None) -> DeadPage:
        """As the port says."""
        return self._inner.retrying(client_id, limit, behind)

    def indexed(self, client_id: str, limit: int, behind: str | None) -> PlacePage:
        """As the port says."""
        return self._inner.indexed(client_id, limit, behind)

    def _ending(self, changes: Sequence[tuple[Execution | None, Execution]]) -> Sequence[str]:
        """The ids of the clients whose records end. A record about which that cannot be told is saved unlisted."""
        found: list[str] = []
        for before, after in changes:
            with contained(self._faults, lambda _: None, after.execution_id):
                if is_ending(before, after):
                    found.append(after.client_id)
        return list(dict.fromkeys(found))

    def _listing(self, client_ids: Sequence[str]) -> Set[str]:
        """Those of the clients that list their runs. An end that is saved waits for one failed read at most.

        If a client gives no answer, what this environment knew last of it, and of those behind it, counts.
        """
        found: set[str] = set()
        for client_id in client_ids:
            try:
                client = self._clients.get(client_id)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with a client, what ended is saved
                extra = {"action": "runs_not_indexed", "clientIds": sorted({*client_ids} - found - self._known)}
                log.warning("runs that end now may be left unlisted: %s", why(self._faults, error), extra=extra)
                if isinstance(error, Unavailable):
                    return found | (self._known & {*client_ids})
                continue
            if client is not None and client.runs_index:
                found.add(client_id)
                self._known.add(client_id)
            else:
                self._known.discard(client_id)
        return found

    def _save(
        self, changes: Sequence[tuple[Execution | None, Execution]], now: int, listing: Set[str]
    ) -> Sequence[Saved]:
        for before, after in changes:
            if (reason := refused(before, after)) is not None:
                raise Disallowed(reason)
        kept = [(before, self._retention.kept(before, after, now)) for before, after in changes]
        saves = self._inner.save(indexed(kept, listing))
        for one, (before, after) in zip(saves, changes, strict=True):
            if one.ok:
                self._counters.add_change(before, after, now)
            if one.is_defect:
                self._faults.add(ValueError(one.unavailable))
        return saves

    def _refused(self, change: tuple[Execution | None, Execution], error: Exception) -> Saved:
        reason = why(self._faults, error, change[1].execution_id)
        if isinstance(error, Disallowed):
            extra = {"action": "transition_refused", "executionId": change[1].execution_id}
            log.error("a change of a record is refused: %s", error, extra=extra)
            reason = f"its change is refused: {error}"
        return Saved(ok=False, unavailable=reason, is_defect=not isinstance(error, Unavailable))


class HardenedJobs:
    """`ports.Jobs` whose reads of several answer for each job, whatever one of them raises."""

    def __init__(self, inner: Jobs, faults: Faults) -> None:
        self._inner, self._faults = inner, faults

    def get(self, job_refs: Sequence[tuple[str, str]]) -> Sequence[NamedJob | Unreadable | None]:
        """All together; if that raises a defect, by halves. Raises Unavailable."""
        return for_each(self._inner.get, job_refs, lambda ref, error: _unreadable(self._faults, error, about=ref[0]))

    def save(self, before: NamedJob | None, after: NamedJob) -> bool:
        """As the port says."""
        return self._inner.save(before, after)

    def list(self, client_id: str, prefix: str | None, after_key: str | None, limit: int) -> Listed:
        """As the port says."""
        return self._inner.list(client_id, prefix, after_key, limit)

    def scan(self, part: int, parts: int) -> Iterator[Sequence[NamedJob | Unreadable]]:
        """As the port says."""
        return self._inner.scan(part, parts)


class HardenedReleases:
    """`ports.ReleaseQueue` whose sends answer for each release, whatever one of them raises."""

    def __init__(self, inner: ReleaseQueue, faults: Faults) -> None:
        self._inner, self._faults = inner, faults

    def send(self, releases: Sequence[Release], now: int, aligned: Aligned | None = None) -> Sequence[Refused]:
        """All together; if that raises, in pieces, and of a piece that raises each alone.

        Nothing is sent behind a release of the same ordering key that was refused for now.
        """
        try:
            return self._inner.send(releases, now, *([aligned] if aligned else []))
        except Exception as error:  # noqa: BLE001 - whatever one release raises, the others are sent
            if len(releases) == 1:
                # Permanently: a poller records it as DEAD and goes on. To wait for it would stop its whole shard.
                return [Refused(0, not isinstance(error, ClockworkError), self._why(error, releases[0]))]
        return self._send_in_pieces(releases, now, aligned, PIECE if len(releases) > PIECE else 1)

    def _why(self, error: Exception, release: Release) -> str:
        return why(self._faults, error, release.execution_id)

    def _send_in_pieces(
        self, releases: Sequence[Release], now: int, aligned: Aligned | None, size: int
    ) -> list[Refused]:
        refused: list[Refused] = []
        blocked: set[tuple[str, str]] = set()
        for start in range(0, len(releases), size):
            piece = range(start, min(start + size, len(releases)))
            held = [index for index in piece if _order_of(releases[index]) in blocked]
            refused += [Refused(index, False, "a release before it in its order was refused") for index in held]
            going = [index for index in piece if index not in held]
            answers = self.send([releases[index] for index in going], now, aligned) if going else ()
            for one in answers:
                index = going[one.index]
                refused.append(msgspec.structs.replace(one, index=index))
                if not one.permanent and releases[index].occurrence.ordering_key is not None:
                    blocked.add(_order_of(releases[index]))
        return sorted(refused, key=lambda one: one.index)


def _unreadable(faults: Faults, error: Exception, about: str) -> Unreadable:
    """The answer for one item of a read; an outage is the answer for all, and is raised."""
    if isinstance(error, Unavailable):
        raise error
    return Undecodable(why(faults, error, about))


def _order_of(release: Release) -> tuple[str, str]:
    return release.occurrence.client_id, release.occurrence.ordering_key or ""
