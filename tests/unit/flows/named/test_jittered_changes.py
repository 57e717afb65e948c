"""A fire between its base instant and its jittered due when its schedule is changed: it fires once."""

from __future__ import annotations

from typing import Any

import pytest

from clockwork.domain.executions import State
from clockwork.domain.fires.chains import first_pointer
from clockwork.domain.recurrence import Every, Recurrence
from tests.unit.flows.named.test_what_happens_when import Case


@pytest.mark.parametrize(
    "change",
    [{}, {"jitter_seconds": 3}, {"max_fires": 50}, {"end_at": 1_700_009_000_000}, {"start_at": 1_699_999_999_000}],
)
def test_a_fire_between_its_base_instant_and_its_jittered_due_when_the_schedule_is_changed_fires_once(
    change: dict[str, Any],
) -> None:
    def schedule(case: Case, **bounds: Any) -> Recurrence:
        return Recurrence(every=Every(60_000, case.start), **{"jitter_seconds": 50, **bounds})

    case = Case()
    for number in range(12):
        key = f"jittered-{number}"
        case.job = case.create(key, recurrence=schedule(case)).job
        first = first_pointer(case.stored)
        assert first is not None
        base_at, due_at = first.fire.base_at, first.fire.due_at
        if due_at - base_at < 2_000:
            continue
        case.run((base_at + due_at) / 2_000 - case.clockwork.clock.at / 1000)
        case.change(case.like(recurrence=schedule(case, **change)))
        case.run(130)
        bases = [base_at + n * 60_000 for n in range(2)]
        due = [one.due_at for one in case.executions() if one.state is State.SUCCEEDED]
        per_base = [sum(base <= at < base + 60_000 for at in due) for base in bases]
        assert per_base == [1, 1], (number, change, base_at, due)
