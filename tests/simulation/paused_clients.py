"""What is to become of the fires that a pause of their client held back, as far as one can tell from outside."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from clockwork.domain.clients import Pause
from clockwork.domain.executions import Execution, State
from clockwork.domain.named_jobs import NamedJob
from clockwork.settings import Settings

#: A deliverer acts for so long (ms) on the client as it was, and clocks differ by less than the rest.
KNOWN_AFTER_MS = Settings().client_cache_seconds * 1000 + 10_000


def objection(rows: Sequence[NamedJob], pauses: Iterable[Pause], due_at: int, now: int) -> str | None:
    """Why the first attempt at a fire of a job with these rows must not start now, or None."""
    if any(row.definition.recurrence is None or row.definition.catch_up != "none" for row in rows):
        return None
    is_held = any(one.began_at < due_at <= one.ended_at and now > one.ended_at + KNOWN_AFTER_MS for one in pauses)
    return "it was due in a pause of its client, and its job catches up with nothing" if is_held else None


def wrongly_missed(
    rows: Sequence[NamedJob], pauses: Iterable[Pause], records: Iterable[Execution]
) -> Iterator[Execution]:
    """The records of fires that a pause of their client is said to have held back for good, and did not."""
    catches_up = all(row.definition.catch_up == "all" for row in rows)
    least_ms = min((row.definition.catch_up_window_seconds * 1000 for row in rows), default=0)
    for record in records:
        if record.state is not State.SKIPPED or "in a pause of its client" not in (record.reason or ""):
            continue
        held = [one for one in pauses if one.began_at < record.due_at <= one.ended_at]
        if not held or (catches_up and all(record.due_at >= one.ended_at - least_ms for one in held)):
            yield record
