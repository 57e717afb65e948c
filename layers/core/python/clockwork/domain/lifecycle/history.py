"""The attempts that a record, or a release without one, keeps of an execution that has made any."""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import LONGEST_ERROR, Attempt, Outcome
from clockwork.domain.releases import Release

#: A record keeps at most this many of the last attempts, however often the execution is redriven. With them and the
#: largest payload it has to fit into a row of the table, which holds 400 KB.
ATTEMPTS_KEPT = 100
#: A record keeps the excerpts of answers for only this many of the last attempts, so that it stays small.
EXCERPTS_KEPT = 3


def attempt_of(number: int, release: Release, outcome: Outcome, *, is_first: bool = False) -> Attempt:
    """The record of an attempt that has ended."""
    return Attempt(
        number=number,
        state=outcome.state,
        started_at=outcome.started_at,
        ended_at=outcome.ended_at,
        lateness_ms=release.lateness_ms(outcome.started_at) if is_first else 0,
        status_code=outcome.status_code,
        error=None if outcome.error is None else outcome.error[:LONGEST_ERROR],
        response_excerpt=outcome.excerpt,
    )


def last_of(attempts: tuple[Attempt, ...]) -> tuple[Attempt, ...]:
    """The attempts that a record keeps of all attempts so far. Dropped ones still count in `Attempt.number`."""
    old, recent = attempts[-ATTEMPTS_KEPT:-EXCERPTS_KEPT], attempts[-EXCERPTS_KEPT:]
    return tuple(msgspec.structs.replace(attempt, response_excerpt=None) for attempt in old) + recent
