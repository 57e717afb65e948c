"""Callbacks of dead jobs: the target receives each callback, or the callback ends in another way."""

from __future__ import annotations

from collections.abc import Iterator

from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import AnonymousJob, only_execution
from clockwork.domain.keys import instant_of
from clockwork.domain.lifecycle.callbacks import callback_row, is_called_back
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Deliver, Of, Release
from tests.simulation.watcher import Promise, Watcher


def uncalled(watcher: Watcher, apart: str | None = None) -> Iterator[str]:
    """The ids of dead jobs whose callback has not ended, without those of the client `apart`: a defect may cost one."""
    for promise in watcher.promises.values():
        occurrence = promise.occurrence
        if occurrence.client_id == apart:
            continue
        if watcher.departures.is_of_before(occurrence.client_id, promise.acknowledged_at):
            continue  # Nothing of a deleted client starts, and whoever has its id now is told nothing of it.
        release = Deliver(Of(promise.job_id), occurrence, occurrence.due_at)
        dead = watcher.executions.find(release.job_id, release.execution_id)
        if dead is None or not is_called_back(release, dead) or _has_ended_unrecorded(watcher, promise):
            continue
        if not _has_ended(watcher, release, dead):
            yield promise.job_id


def _has_ended_unrecorded(watcher: Watcher, promise: Promise) -> bool:
    """At level none the same message may later succeed or be discarded, and then nobody updates the record."""
    has_ended = watcher.seen[promise.job_id].accepted > 0 or promise.occurrence.client_id in watcher.discarded
    return promise.occurrence.record == "none" and has_ended


def _has_ended(watcher: Watcher, release: Release, dead: Execution) -> bool:
    row = callback_row(release, dead, RetryPolicy(), 0)
    job_id = AnonymousJob(row.partition_id, row.key, 0).job_id
    record = watcher.executions.find(job_id, only_execution(job_id, instant_of(row.key)))
    if record is None or not record.is_final:
        return False
    watcher.require(
        record.state is not State.SUCCEEDED or watcher.seen[job_id].accepted > 0,
        "I1",
        "its target never saw it",
        job_id,
    )
    return True
