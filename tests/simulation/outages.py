"""Outages: one port fails at one place for minutes, as a hot key or a throttled queue does. All else must go on."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from clockwork.domain.executions import Execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.quarantine import quarantine_of
from clockwork.domain.releases import Release
from clockwork.domain.timeline import Row
from clockwork.targets.kafka.target import KafkaTarget
from tests.simulation.faults import Profile

#: The client that has the place.
PLACED_AT = "client-0"
#: One of so many seeds meets an outage, and nothing else that goes wrong: each time at the next place. Another one
#: meets a long outage.
OUTAGES_EVERY, LONG_AT = 25, 6
#: This often in a run, for this long at the least and at the most (ms).
TIMES = 6
SHORTEST_MS, LONGEST_MS = 60_000, 140_000
#: A long outage (ms).
LONG_MS = 900_000


@dataclass(frozen=True)
class Place:
    """Where a port fails: the calls, which of their items, and whose work may be late because of it."""

    name: str
    call: str | tuple[str, ...]
    fails: Callable[[object], bool]
    holds_up: Callable[[Occurrence], bool]
    #: Whether it fails once and for a quarter of an hour: for longer than pollers read ahead.
    is_long: bool = False
    #: Whether bytes of the client's rows and jobs say for as long that a newer version wrote them.
    is_damaged: bool = False


def _is_job(ref: object) -> bool:
    return isinstance(ref, tuple) and ref[0] == PLACED_AT


def _is_one_job(ref: object) -> bool:
    return isinstance(ref, tuple) and ref[0] == PLACED_AT and sum(str(ref[1]).encode()) % 2 == 0


def _is_shard(about: object) -> bool:
    return about == "p000" or (isinstance(about, Row) and about.partition_id == "p000")


def _is_unkept(one: object) -> bool:
    return _is_job(one) or (isinstance(one, Row) and one.partition_id.startswith(quarantine_of("p")))


def _is_record(change: object) -> bool:
    after = change[1] if isinstance(change, tuple) else change
    return isinstance(after, Execution) and after.client_id == PLACED_AT


def _is_for_kafka(release: object) -> bool:
    return isinstance(release, Release) and isinstance(release.occurrence.target, KafkaTarget)


def _is_of_client(occurrence: Occurrence) -> bool:
    return occurrence.client_id == PLACED_AT


def _is_of_work(one: object) -> bool:
    return _is_record(one) or (isinstance(one, Release) and _is_of_client(one.occurrence))


#: The outage while defects strike the same client: no call then tells with certainty what becomes of its releases.
BESIDE_DEFECTS = Place(
    "one client's queue and records", ("releases.send", "executions.save"), _is_of_work, _is_of_client
)
LIMITS = Place("one client's limits", "regulation.", lambda about: about == PLACED_AT, _is_of_client)
#: Each is tried in turn.
PLACES = (
    Place("one client's named jobs", "jobs.get", _is_job, _is_of_client),
    Place("one client's records", "executions.save", _is_record, _is_of_client),
    LIMITS,
    Place("one transport", "releases.send", _is_for_kafka, lambda one: isinstance(one.target, KafkaTarget)),
)
#: As these, for longer than pollers read ahead, or with refusals that are permanent while they last.
LONG_PLACES = (
    Place("one client's named jobs for long", "jobs.get", _is_job, _is_of_client, is_long=True),
    Place("bytes of one client's work", (), lambda _: False, _is_of_client, is_long=True, is_damaged=True),
    Place("some of one client's jobs for long", "jobs.get", _is_one_job, _is_of_client, is_long=True),
    Place("one client's records for long", "executions.save", _is_record, _is_of_client, is_long=True),
    # What can be neither released nor kept apart holds up its shard.
    Place(
        "one client's jobs and quarantine", ("jobs.get", "timeline.put_new"), _is_unkept, lambda _: True, is_long=True
    ),
    # What the shard holds is late, whosever it is: nothing may be lost.
    Place("one shard for long", ("timeline.read", "timeline.put_new"), _is_shard, lambda _: True, is_long=True),
)
OUTAGES = Profile("outages", skew_ms=0)


def place_of_seed(seed: int) -> Place | None:
    """The place at which something is out in the run of a seed, or None."""
    turn, at = divmod(seed, OUTAGES_EVERY)
    if at == LONG_AT:
        return LONG_PLACES[turn % len(LONG_PLACES)]
    return PLACES[turn % len(PLACES)] if at == OUTAGES_EVERY // 2 else None


class Outage:
    """The outages of one run, all at one place, one of them while a herd comes due."""

    def __init__(self, place: Place, began_at: int, busy_ms: int, herd_at: int, rng: random.Random) -> None:
        self._place = place
        share_ms = busy_ms // TIMES
        starts = [began_at + number * share_ms + rng.randrange(share_ms - LONGEST_MS) for number in range(TIMES)]
        herd = (herd_at - began_at) // share_ms
        starts[herd] = herd_at - SHORTEST_MS // 2
        starts = [start for number, start in enumerate(starts) if abs(number - herd) != 1]
        self._times = [(start, start + rng.randrange(SHORTEST_MS, LONGEST_MS)) for start in starts]

    def struck(self, now: int, call: str, items: Sequence[object], about: Sequence[object]) -> set[int]:
        """The indexes of the items that get no answer at `now` (ms); those of all if the call does one thing."""
        if not call.startswith(self._place.call) or not any(start <= now < end for start, end in self._times):
            return set()
        if items != [None]:
            return {index for index, item in enumerate(items) if self._place.fails(item)}
        parts = [part for one in about for part in (one if isinstance(one, list | tuple) else (one,))]
        return {0} if any(map(self._place.fails, [*about, *parts])) else set()


class LongOutage(Outage):
    """One outage of a quarter of an hour, where rows are kept for less: what is due meanwhile comes back from afar."""

    def __init__(self, place: Place, began_at: int, rng: random.Random) -> None:
        self._place = place
        start = began_at + rng.randrange(LONG_MS // 2)
        self._times = [(start, start + LONG_MS)]
