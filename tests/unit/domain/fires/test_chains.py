"""Chains: which fires of a named job count as missed."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.fires.chains import MISSED_AFTER_MS, is_missed
from clockwork.domain.recurrence import Fire
from tests.support.named import Named


def test_the_one_fire_of_a_job_that_fires_once_is_never_missed() -> None:
    job = Named().job
    once = msgspec.structs.replace(job.definition, recurrence=None, at=job.changed_at)
    fire = Fire(job.changed_at, job.changed_at, 1)
    assert not is_missed(msgspec.structs.replace(job, definition=once), fire, fire.due_at + 10 * MISSED_AFTER_MS)


@pytest.mark.parametrize(("late_ms", "missed"), [(MISSED_AFTER_MS, False), (MISSED_AFTER_MS + 1, True)])
def test_a_fire_that_is_read_long_after_it_was_due_was_missed(late_ms: int, missed: bool) -> None:
    job = Named().job
    fire = Fire(job.changed_at + 1, job.changed_at + 1, 1)
    assert is_missed(job, fire, fire.due_at + late_ms) is missed
