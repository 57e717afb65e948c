"""Parking: the deliverer sets an occurrence aside in its client's own partition, until the sweeper unparks it."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from clockwork.domain import ids, keys
from clockwork.domain.executions import FINAL, NOTHING_KEPT, Execution, State
from clockwork.domain.lifecycle.attempts import plan_death
from clockwork.domain.releases import Deliver
from clockwork.domain.storage.rows import row_of
from clockwork.domain.timeline import NEVER, Row
from clockwork.domain.waits import Parking, together

#: How many occurrences a second the first sweep unparks after a client or a target has recovered. Each sweep doubles
#: the rate, up to the highest.
FIRST_RATE = 5.0
HIGHEST_RATE = 1_000.0
#: The reason in the record of an occurrence that is parked behind a circuit.
BEHIND_CIRCUIT = "the circuit of its target is open"
#: An environment parks a client's occurrences under one note for this long (ms).
NOTED_MS = 60_000
#: A deliverer that takes longer than this (ms) to put its rows, after it looked at the note, writes the note again.
LONGEST_PARKING_MS = 60_000
#: The key of a row behind a circuit tells no higher number of an attempt.
MOST_TOLD = 999
#: The reason in the record of what an admin has discarded.
DISCARDED = "discarded while it was parked"
#: The reason in the record of what the sweeper ended.
TOO_LONG = "it was parked for 14 days, longer than anything stays parked"


class Parked(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The note that a client has parked occurrences, and how the sweeper is to unpark them.

    `rate`: how many a second the next sweep unparks. `by_hand`: an admin asked for this very rate, whether or not
    circuits are open. `discard_until`: occurrences that were due by then (ms) are to end undelivered. `noted_at`: when
    an environment last noted that it is about to park some (ms). `swept_until`: the lease of a sweep that releases
    some, or when that sweep ended (ms).
    """

    client_id: str
    rate: float = FIRST_RATE
    by_hand: bool = False
    discard_until: int | None = None
    noted_at: int = 0
    swept_until: int = 0

    def goes_like(self, other: Parked) -> bool:
        """Whether both notes say alike how the sweeper is to unpark, whenever some were parked or swept."""
        return self.directions() == other.directions()

    def directions(self) -> Parked:
        """The note without what is written beside it: when some were parked, and who sweeps."""
        return msgspec.structs.replace(self, noted_at=0, swept_until=0)


def parking_of(client_id: str) -> str:
    """The partitionId of a client's parked occurrences. No shard has a partitionId of this form."""
    return f"parked/{client_id}"


def parked_row(release: Deliver, host: str | None = None, *, expires_at: int = NEVER) -> Row:
    """The row of a parked release. Its key is derived, so a deliverer that parks it twice puts the same row.

    A release that was unparked and is parked again gets another row: the sweeper may be about to forget the first one.
    `host`: the host whose circuit is open, if that is why it is parked. The rows of a host lie together, so that they
    can be passed without reading them. Those with the fewest attempts lie first: so each has its turn to probe.
    `expires_at`: when (ms) TTL may delete it, which is later than any sweep needs.
    """
    row_id = release.row_id("parked", release.travels.parkings)
    key = keys.row_key(release.occurrence.due_at, row_id)
    prefix = "" if host is None else f"{host_prefix(host)}{min(release.attempt, MOST_TOLD):03d}/"
    return row_of(parking_of(release.occurrence.client_id), prefix + key, [release], expires_at)


def host_prefix(host: str) -> str:
    """The beginning of the keys of rows that are parked behind a host's circuit. It sorts behind all other rows."""
    return f"h{ids.derive('host', host)}/"


def parked_since(release: Deliver) -> int:
    """When (ms) the release of a parked row was parked."""
    held = release.waits.held
    return release.occurrence.due_since if held is None else held.since


def parked_due_at(key: str) -> int:
    """The due instant (ms) in the key of a parked row."""
    return keys.instant_of(key.rpartition("/")[2])


def parked_record(release: Deliver, stored: Execution | None, reason: str, expires_at: int) -> Execution:
    """The PARKED record of an occurrence; no attempt is used up. `stored` is its record, which waits, or None."""
    record = stored or release.first_record(State.PARKED, expires_at, revision=0)
    # A plain release waits in a row of its own, and an ordered one where its message is: its record notes the wait.
    is_ordered = release.occurrence.ordering_key is not None
    waits, told = record.waits, release.waits
    noted = {"waited": together(waits.waited, told.waited), "held": told.held} if is_ordered else {}
    # A slot is given up. The planned instant of a retry stays: it may be parked just before it.
    planned_at = None if waits.paced else waits.next_attempt_at
    waits = msgspec.structs.replace(waits, next_attempt_at=planned_at, paced=False, **noted)
    parking = Parking(release.travels.parkings, release.revision, None if is_ordered else parked_since(release))
    return record.changed(state=State.PARKED, reason=reason, waits=waits, parking=parking)


def ramp(start_at: int, seconds: int) -> Iterator[int]:
    """The instants (ms) at which occurrences leave one by one, without end, at a rate that doubles every `seconds`."""
    rate, at, until = FIRST_RATE, float(start_at), float(start_at)
    while True:
        until += seconds * 1000
        while at < until:
            yield int(at)
            at += 1000 / rate
        rate = next_rate(rate)


def next_rate(rate: float) -> float:
    """The rate of the next sweep: twice the rate of the last one (a ramp), up to the highest."""
    return min(2 * rate, HIGHEST_RATE)


class Discard(msgspec.Struct, frozen=True):
    """The end of a parked occurrence that is discarded, and the record to save for it; None if it is stored already."""

    end: Execution
    execution: Execution | None = None


def plan_discard(release: Deliver, expires_at: int, stored: Execution | None, reason: str = DISCARDED) -> Discard:
    """The CANCELLED record of a parked occurrence that is discarded, with the reason.

    An execution that has ended, or runs, is left as it is. One without a record (level `none`) gets this one, kept
    until `expires_at` (ms).
    """
    if stored is not None and (stored.state in FINAL or stored.state is State.RUNNING):
        return Discard(stored)
    if stored is None:
        end = release.first_record(State.CANCELLED, expires_at, reason=reason)
    else:
        end = stored.changed(state=State.CANCELLED, reason=reason, waits=stored.waits.over(), kept=NOTHING_KEPT)
    return Discard(end, end)


def plan_burial(release: Deliver, now: int, expires_at: int, stored: Execution | None) -> Discard:
    """The DEAD record of an occurrence that was parked for too long at `now` (ms), which its client may redrive.

    An execution that has ended, or runs, is left as it is.
    """
    if stored is not None and (stored.state in FINAL or stored.state is State.RUNNING):
        return Discard(stored)
    dead = plan_death(release, stored, TOO_LONG, now, expires_at)
    return Discard(dead, dead)
