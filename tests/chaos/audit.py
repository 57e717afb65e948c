"""Compares the promises of the API with the arrivals at the target. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bench.arrivals.percentiles import percentile
from tests.chaos.promises import CANCELLED, Arrival, Key, Promise

#: States in which an execution may end without a delivery; the API shows each of them to the client.
VISIBLE_ENDS = frozenset({"DEAD", "EXPIRED", "SKIPPED"})


#: Order is promised to jobs that were acknowledged at least this long before they were due.
ORDERED_AHEAD_MS = 1_000


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Promises compared with arrivals. Occurrences are named by their keys; lateness (ms) is that of first arrivals."""

    occurrences: int
    delivered: int
    attempts: int
    #: Promised, not cancelled, never accepted by the target, and in no state that explains it.
    lost: Sequence[Key]
    #: At least one attempt came before the due instant.
    early: Sequence[Key]
    #: Accepted more than once, by record level.
    duplicates: Mapping[str, Sequence[Key]]
    #: The API answered `cancelled`, and the target saw an attempt all the same.
    uncancelled: Sequence[Key]
    #: Arrived, but the API had promised it to no client.
    unexpected: Sequence[Key]
    #: Its first attempt began before the target had accepted the previous occurrence of the same ordering key.
    disordered: Sequence[Key]
    #: Given up although its target would have accepted it, or delivered although its target never accepts.
    ended_wrongly: Sequence[Key]
    lateness_ms: Sequence[int]

    @property
    def repeated(self) -> int:
        """Executions that were accepted more than once."""
        return sum(map(len, self.duplicates.values()))

    def late_ms(self, share: float) -> int:
        """A percentile of lateness; 0 if nothing arrived."""
        return int(percentile(self.lateness_ms, share)) if self.lateness_ms else 0

    def as_json(self) -> dict[str, Any]:
        """The figures as one JSON object."""
        return {
            "occurrences": self.occurrences,
            "delivered": self.delivered,
            "attempts": self.attempts,
            "lost": len(self.lost),
            "early": len(self.early),
            "duplicates": {record: len(keys) for record, keys in self.duplicates.items()},
            "latenessMs": {"p50": self.late_ms(0.5), "p99": self.late_ms(0.99), "max": self.late_ms(1)},
        }


def audit(promises: Collection[Promise], arrivals: Iterable[Arrival], ends: Mapping[Key, str]) -> Audit:
    """Compares promises with arrivals; `ends` holds the state that the API shows of executions never accepted."""
    by_key = _by_key(arrivals)
    accepted = {key: sum(arrival.accepted for arrival in some) for key, some in by_key.items()}
    known = {promise.key for promise in promises}
    return Audit(
        occurrences=sum(p.sure or p.key in by_key for p in promises),
        delivered=sum(accepted.get(key, 0) > 0 for key in known),
        attempts=sum(len(some) for key, some in by_key.items() if key in known),
        lost=[p.key for p in promises if _is_lost(p, accepted, ends)],
        early=sorted(key for key, some in by_key.items() if any(arrival.at < key.due_at for arrival in some)),
        duplicates={
            record: [p.key for p in promises if p.record == record and accepted.get(p.key, 0) > 1]
            for record in ("none", "full")
        },
        uncancelled=[p.key for p in promises if p.cancel == CANCELLED and p.key in by_key],
        unexpected=sorted(by_key.keys() - known),
        disordered=_disordered(promises, by_key),
        ended_wrongly=[p.key for p in promises if _ended_wrongly(p, accepted, ends)],
        lateness_ms=sorted(_lateness_ms(p, by_key[p.key]) for p in promises if p.key in by_key),
    )


def faults(outcome: Audit, *, may_repeat: bool) -> list[str]:
    """The faults as sentences; `may_repeat`: an attempt may be accepted twice at record level `full`, too."""
    found = {
        "lost": outcome.lost,
        "early": outcome.early,
        "delivered although cancelled": outcome.uncancelled,
        "delivered though nobody was promised it": outcome.unexpected,
        "out of order": outcome.disordered,
        "ended otherwise than its target would have it": outcome.ended_wrongly,
        "accepted twice at level full": [] if may_repeat else outcome.duplicates["full"],
    }
    return [f"{len(keys)} {what}: {_some(keys)}" for what, keys in found.items() if keys]


def _by_key(arrivals: Iterable[Arrival]) -> dict[Key, list[Arrival]]:
    by_key: defaultdict[Key, list[Arrival]] = defaultdict(list)
    for arrival in arrivals:
        by_key[arrival.key].append(arrival)
    return dict(by_key)


def _is_lost(promise: Promise, accepted: Mapping[Key, int], ends: Mapping[Key, str]) -> bool:
    must_end = promise.sure and not promise.cancel
    return must_end and not accepted.get(promise.key) and ends.get(promise.key) not in VISIBLE_ENDS


def _ended_wrongly(promise: Promise, accepted: Mapping[Key, int], ends: Mapping[Key, str]) -> bool:
    if promise.hopeless:
        return accepted.get(promise.key, 0) > 0
    return promise.expects_delivery and not accepted.get(promise.key) and ends.get(promise.key) in VISIBLE_ENDS


def _disordered(promises: Collection[Promise], by_key: Mapping[Key, Sequence[Arrival]]) -> list[Key]:
    """The occurrences that overtook their predecessor: one began before the target first accepted the previous one."""
    found = []
    in_order = sorted(
        (p.ordering_key, p.key.due_at, p.key)
        for p in promises
        if p.ordering_key and p.acknowledged_at + ORDERED_AHEAD_MS <= p.key.due_at
    )
    for (one, _, earlier), (other, _, later) in pairwise(in_order):
        accepted = [arrival.at for arrival in by_key.get(earlier, ()) if arrival.accepted]
        begun = [arrival.at for arrival in by_key.get(later, ())]
        if one == other and accepted and begun and min(begun) < min(accepted):
            found.append(later)
    return found


def _lateness_ms(promise: Promise, arrivals: Sequence[Arrival]) -> int:
    """How long (ms) after it was due or promised, whichever came later, the occurrence's first attempt arrived."""
    return max(0, min(arrival.at for arrival in arrivals) - max(promise.key.due_at, promise.acknowledged_at))


def _some(keys: Sequence[Key]) -> str:
    shown = ", ".join(f"{key.job_id} due {key.due_at}" for key in keys[:3])
    return f"{shown}, ..." if len(keys) > 3 else shown
