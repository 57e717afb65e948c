"""Holding: the cause of an execution's present wait, and its end as far as the end is known."""

from __future__ import annotations

from typing import Literal

import msgspec

from clockwork.domain.executions import WAITING, Execution, State

#: The next attempt's instant, a slot of the rate limit, a permit, the end of a pause, a probe of an open circuit, or
#: the jobs ahead. Or a sweep that unparks the execution, or its message, which deliverers may hold for a cap.
Wait = Literal["retry", "cap", "permit", "pause", "circuit", "ordered", "unpark", "delivery"]


class Holding(msgspec.Struct, frozen=True):
    """The cause of an execution's wait, its end (ms), and a text. Without `until` the end is unknown."""

    wait: Wait
    says: str
    until: int | None = None


def holding_of(record: Execution, now: int, *, is_paused: bool, probe_at: int | None) -> Holding | None:
    """The cause of the execution's wait at `now` (ms); None if it runs or has ended.

    `is_paused`: its client is paused. `probe_at` (ms): the instant at which the open circuit of its target lets a probe
    through; None: no open circuit.
    """
    if record.state not in WAITING:
        return None
    waits, next_at = record.waits, record.waits.next_attempt_at
    is_parked = record.state is State.PARKED
    if not is_parked and next_at is not None and next_at > now:
        if waits.paced:
            return Holding("cap", "its slot under the client's rate limit", next_at)
        return Holding("retry", "the instant of its next attempt", next_at)
    if is_paused:
        return Holding("pause", "its client is paused: until an admin resumes it, and no end is known")
    if probe_at is not None and probe_at > now:
        return Holding("circuit", "its target fails: the next occurrence tries it then", probe_at)
    if probe_at is not None:
        return Holding("circuit", "its target fails: the next occurrence that comes tries it, and no end is known")
    if waits.line is not None:
        return Holding("cap", "in line for a slot under the client's rate limit, as was estimated", waits.line.place)
    # A pause or an open circuit that it was parked for is over by now.
    cause = None if waits.held is None or waits.held.cause in ("pause", "circuit") else waits.held.cause
    if is_parked and cause is None:
        return Holding("unpark", "parked: sweeps let such work go on a ramp, and no end is known")
    return Holding(
        cause or "delivery", "its message is with the deliverers: for a cap, a permit or its turn, and no end is known"
    )
