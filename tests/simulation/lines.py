"""Watches lines under rate caps (I8): no slot far ahead, none for the dead, one place, no sleepers, no overtaking.

A slot lies a minute ahead at most. An execution that had ended before an invocation began takes none in it. Where
nothing goes wrong an attempt is given one place in line. While a line stands, who has just come takes no slot far
ahead, nor does anybody whose turn is far away. And where slots pass unused, whoever waits starts soon: within a minute,
or within half of what it has waited by then.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict

from clockwork.domain.executions import Execution
from clockwork.domain.releases import Deliver, Watch
from clockwork.targets.pool import PoolTarget
from tests.simulation.scheduler import Actor

#: How far ahead a slot may lie (ms), on clocks that differ by the second.
MOST_AHEAD_MS, CLOCKS_APART_MS = 60_000, 3_000
#: While a line stands the slot of one that has just come lies so far ahead (ms) at most.
NEWCOMER_MS = 5_000
#: The slot of one whose turn is further away than FAR_MS lies FAR_AHEAD_MS ahead at most. The slot of one that has
#: waited for longer than LONG_MS, or has a window, lies WAITED_MS ahead at most.
FAR_MS, FAR_AHEAD_MS, LONG_MS, WAITED_MS = 80_000, 20_000, 400_000, 30_000
#: A line stands if its end lies so far ahead (ms).
LINE_MS = 40_000
#: After a slot has passed unused a live attempt begins within the longer of the two, but for what handing over takes.
LEAST_MS, MOST_MS, HANDOVER_MS = 60_000, 900_000, 5_000
#: The payload of a callback begins so.
CALLBACK = b'{"executionId":'
#: The names of those begin so who take reports of how attempts end.
REPORTING = ("api", "deliverer of ends")
#: Those that come back do so up to this much later than was worked out.
SPREAD = 0.1


class Lines:
    """The slots, places and starts of clients with rate caps."""

    def __init__(self, invocation_ms: int) -> None:
        self._invocation_ms = invocation_ms
        self._ended_at: dict[str, int] = {}
        self._has_slot: set[tuple[str, int, int]] = set()
        self._places: defaultdict[tuple[str, int, int], set[int]] = defaultdict(set)
        #: The slots that an attempt had: what loses one keeps its instant as its place.
        self._slots: defaultdict[tuple[str, int, int], set[int]] = defaultdict(set)
        #: How many messages api and pollers made of an attempt, each of which waits in line from its end. They make two
        #: if the row came between a poller's cursor and its horizon.
        self._made: Counter[tuple[str, int, int]] = Counter()
        #: How often the check of an attempt's ticket has made the ticket again, which waits like another message.
        self._made_again: Counter[tuple[str, int, int]] = Counter()
        #: By execution: how many watches reports sent, each beside the first watch of its attempt.
        self._told: Counter[str] = Counter()
        #: The execution whose end made an attempt: of a retry its own, of a callback the dead one.
        self._made_by: dict[tuple[str, int, int], str] = {}
        #: By client: slots that were reserved beside a line, each with the instant of its reservation (ms).
        self._beside: defaultdict[str, dict[int, int]] = defaultdict(dict)
        self._free_at: dict[str, float] = {}
        #: By client: stretches in which slots passed unused (ms).
        self._unused: defaultdict[str, list[tuple[float, int]]] = defaultdict(list)

    def reserved(
        self, client_id: str, first_at: int, count: int, interval_ms: float, now: int, line_until: int = 0
    ) -> str | None:
        """Notes reserved slots; returns why they must not be reserved at `now` (ms, true time), or None."""
        if not count:
            return None
        if line_until > now + LINE_MS + CLOCKS_APART_MS:
            self._beside[client_id].update((first_at + int(place * interval_ms), now) for place in range(count))
        free_at, self._free_at[client_id] = self._free_at.get(client_id), first_at + count * interval_ms
        if free_at is not None and first_at > free_at + 1:
            self._unused[client_id].append((free_at, first_at))
        ahead_ms = first_at + (count - 1) * interval_ms - now
        return f"a slot lies {ahead_ms:.0f} ms ahead" if ahead_ms > MOST_AHEAD_MS + CLOCKS_APART_MS else None

    def changed(self, record: Execution, now: int) -> None:
        """Notes whether an execution has ended by now."""
        if record.is_final and record.end.ended_by is None:
            self._ended_at.setdefault(record.execution_id, now)
        else:
            self._ended_at.pop(record.execution_id, None)

    def sent(self, actor: Actor | None, release: Deliver) -> str | None:
        """Notes a release that the queue took; returns why it must not have a slot, or None."""
        key = release.execution_id, release.attempt, release.travels.parkings
        if release.waits.line is None and actor is not None:
            kind = actor.name.split()[0].partition("<")[0]
            self._made[key] += kind in ("api", "poller")
            self._made_again[key] += kind == "deliverer" and isinstance(release.occurrence.target, PoolTarget)
        if (maker := _maker_of(release)) is not None:
            self._made_by[key] = maker
        if release.waits.paced:
            self._slots[key].add(release.run_at)
        elif (place := None if release.waits.line is None else release.waits.line.place) is not None:
            self._places[key] |= {place} - self._slots[key]
        if not release.waits.paced or key in self._has_slot:
            return None
        self._has_slot.add(key)
        overtaking = self._overtakes(release)
        if overtaking is not None:
            return overtaking
        # At level none a copy of the first message knows nothing of the end of the other.
        ended_at = self._ended_at.get(release.execution_id) if release.is_recorded else None
        if ended_at is None or actor is None or actor.deadline_at is None:
            return None
        began_at = actor.deadline_at - self._invocation_ms
        return f"it takes a slot, and had ended {began_at - ended_at} ms before" if ended_at < began_at else None

    def told(self, actor: Actor | None, watch: Watch) -> None:
        """Notes the watch that a report sends. Each of the two finds how the attempt ended, and makes what follows."""
        if actor is not None and actor.name.startswith(REPORTING):
            self._told[watch.execution_id] += 1

    def _overtakes(self, release: Deliver) -> str | None:
        """Why the slot of a release is another's, who stands in the line ahead of it; None if it is its own."""
        reserved_at = self._beside[release.occurrence.client_id].get(release.run_at)
        if reserved_at is None:
            return None
        place = None if release.waits.line is None else release.waits.line.place
        ahead_ms = release.run_at - reserved_at - CLOCKS_APART_MS
        if release.waits.line is None and ahead_ms > NEWCOMER_MS:
            return f"it has just come, and takes a slot {ahead_ms} ms ahead beside a line"
        turn_ms = 0 if place is None else place - reserved_at - CLOCKS_APART_MS
        has_window = release.occurrence.relevancy_window_seconds is not None
        has_waited = (
            release.waits.line is not None and reserved_at - release.waits.line.since > LONG_MS - CLOCKS_APART_MS
        )
        if turn_ms > FAR_MS and ahead_ms > (WAITED_MS if has_window or has_waited else FAR_AHEAD_MS):
            return f"its turn comes in {turn_ms} ms, and it takes a slot {ahead_ms} ms ahead"
        return None

    def place_objection(self) -> str | None:
        """A sentence about an attempt that was given more than one place. For runs without faults."""
        for key, places in self._places.items():
            told = self._told[self._made_by[key]] if key in self._made_by else 0
            if len(places) > max(1, self._made[key]) + self._made_again[key] + told:
                return f"attempt {key[1]} of {key[0]} was given {len(places)} places"
        return None

    def start_objection(self, client_id: str, wanted_at: int, started_at: int) -> str | None:
        """Why a first attempt that was wanted from `wanted_at` on begins too late, or None. For runs without faults.

        Only the time counts in which slots passed unused: in the rest of it others had the slots.
        """
        unused_ms, most = 0.0, None
        for since, until in self._unused[client_id]:
            at = max(int(since), wanted_at + HANDOVER_MS)
            if at >= min(until, started_at):
                continue
            unused_ms += min(until, started_at) - at
            if most is None:
                most = max(LEAST_MS, min(MOST_MS, (at - wanted_at) / 2)) * (1 + SPREAD) + HANDOVER_MS
        if most is None or unused_ms <= most:
            return None
        return f"slots passed unused for {unused_ms:.0f} ms while it waited, {started_at - wanted_at} ms in all"


def _maker_of(release: Deliver) -> str | None:
    """The execution whose end made a release: its own for a retry, the dead one for a callback; else None."""
    if release.attempt > 1:
        return release.execution_id
    body = release.occurrence.payload.body
    return str(json.loads(body)["executionId"]) if body.startswith(CALLBACK) else None
