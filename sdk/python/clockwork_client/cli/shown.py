"""Print a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clockwork_client import results
from clockwork_client.cli import show

if TYPE_CHECKING:
    from clockwork_client.cli.state import State


_TIMING = {True: "it would fire at other instants", False: "it would fire as before"}


def show_job(state: State, found: results.Job) -> None:
    """Print the fields of a job that the answer has."""
    if state.is_json:
        show.as_json(found.raw)
        return
    now = state.now
    last = found.last_execution
    show.facts(
        [
            ("dry run", "nothing was changed" if found.dry_run else None),
            ("timing", _TIMING.get(found.timing_changes) if found.timing_changes is not None else None),
            ("job", found.job_id),
            ("key", found.job_key),
            ("client", found.client_id),
            ("state", found.state),
            ("revision", found.revision),
            ("reason", found.reason),
            ("due", show.when(found.due_at, now)),
            ("schedule", show.schedule(found.schedule, now)),
            ("in words", found.description),
            ("next fire", show.when(found.next_fire_at, now)),
            ("then", ", ".join(one.local for one in (found.next_fires or ())[1:4])),
            ("target", show.target(found.target)),
            ("payload", found.payload),
            ("tags", found.tags),
            ("ordering key", found.ordering_key),
            ("on failure", show.target(found.on_failure)),
            ("created", show.when(found.created_at, now)),
            ("changed", show.when(found.changed_at, now)),
            ("last execution", f"{last.state}, due {show.when(last.due_at, now)}" if last else None),
            ("under way", found.executions_count),
            ("goes on", found.goes_on_count),
            ("ended", found.ended_count),
            ("released", found.released_count),
            ("key used by", found.replaced_by),
        ]
    )
