"""The judge of named jobs: what it holds a job to when a change keeps the beat."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from clockwork.domain.named.changes import Change, changed, paused, replaced, resumed
from clockwork.domain.named_jobs import Definition, NamedJob
from clockwork.domain.recurrence import Every, Recurrence, next_occurrence
from tests.simulation.named_history import CANCELLING, events_of, is_legit, promised
from tests.support.named import Named

BEAT = Every(100_000, 1_700_000_000_000)
JITTERED = Recurrence(every=BEAT, jitter_seconds=99)
PLAIN = Recurrence(every=BEAT)


def _rows(job: NamedJob, *steps: tuple[int, Change]) -> Sequence[NamedJob]:
    """The rows of a job that is changed at these instants (ms)."""
    rows = [job]
    for at, change in steps:
        rows.append(changed(rows[-1], at, at, change, lambda _: job.partition_id))
    return rows


def _to(job: NamedJob, recurrence: Recurrence) -> Change:
    definition: Definition = msgspec.structs.replace(job.definition, at=None, recurrence=recurrence)
    return replaced(definition, b'"changed"')


@pytest.mark.parametrize("cancels", [False, True])
def test_a_fire_that_another_jitter_brings_before_a_pause_is_due_at_the_resume(*, cancels: bool) -> None:
    job = Named(recurrence=JITTERED, catch_up="all").job
    fire = next_occurrence(JITTERED, job.created_at, 0, job.job_id)
    assert fire is not None
    assert fire.base_at + 1 < fire.due_at
    pause = paused(CANCELLING if cancels else None, cancels=cancels)
    rows = _rows(job, (fire.base_at + 1, pause), (fire.due_at + 1, _to(job, PLAIN)))
    assert not is_legit(events_of(rows), fire.base_at, is_started=False)
    events = events_of([*rows, *_rows(rows[-1], (fire.due_at + 2, resumed(None)))[1:]])
    assert is_legit(events, fire.base_at, is_started=False)
    assert next(promised(events)) == fire.base_at


def test_a_base_from_before_the_beat_is_not_promised_whatever_the_jitter() -> None:
    job = Named(at=1_700_000_900_000, recurrence=None).job
    base_at = BEAT.anchor_at + 100_000
    steps = [(base_at + 1, _to(job, recurrence)) for recurrence in (PLAIN, JITTERED, PLAIN)]
    assert next(promised(events_of(_rows(job, *steps)))) == base_at + 100_000
