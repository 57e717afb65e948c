"""Records of skipped fires: each fire is told once, whatever records the stretch meets."""

from __future__ import annotations

import msgspec
import pytest

from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, Skipped, State
from clockwork.domain.fires.chains import fire_after
from clockwork.domain.ids import ExecutionId
from clockwork.domain.recurrence import Fire
from clockwork.flows.skipped import Recorded, Stretch, record_each_skipped, record_skipped
from clockwork.ports import Saved
from tests.support.named import Named, execution_of

BACKFILL = "b1"


def stretch_of(named: Named, count: int, *, run: str | None = None) -> Stretch:
    """The first fires of a job that fires every 10 s, as skipped."""
    first = fire_after(named.job, named.start, 0)
    assert first is not None
    skipped = Skipped(first.due_at, first.due_at + (count - 1) * 10_000, count, "missed")
    return Stretch(named.job, first, skipped, run)


def has_own(named: Named, second: int, run: str) -> None:
    """Record that the fire of a second was delivered."""
    due_at = named.start + second * 1_000
    delivered = execution_of(named.job, due_at, State.SUCCEEDED)
    delivered = msgspec.structs.replace(delivered, execution_id=str(ExecutionId(named.job.job_id, due_at, run)))
    assert named.clockwork.executions.save([(None, delivered)])[0].ok


def told(named: Named) -> list[tuple[float, float, int]]:
    """The fires that are told as skipped: from and to which second, and how many."""
    found = [one.end.skipped for one in named.executions() if one.end.skipped is not None]
    return sorted(((one.from_at - named.start) / 1000, (one.to_at - named.start) / 1000, one.count) for one in found)


@pytest.mark.parametrize("run", [None, BACKFILL])
def test_a_stretch_without_records_is_told_in_one_and_told_once(run: str | None) -> None:
    named = Named()
    stretch = stretch_of(named, 5, run=run)
    assert record_each_skipped(named.clockwork.world, [stretch]) == Recorded(5)
    named.clockwork.clock.advance(1)
    assert record_each_skipped(named.clockwork.world, [stretch]) == Recorded(0)
    assert told(named) == [(10, 50, 5)]


def test_a_stretch_of_a_schedule_begins_behind_the_fires_that_have_records_of_their_own() -> None:
    named = Named()
    for second in (10, 20, 40):
        has_own(named, second, "0")
    assert record_each_skipped(named.clockwork.world, [stretch_of(named, 5)]) == Recorded(3)
    assert told(named) == [(30, 50, 3)]


def test_a_stretch_that_is_all_delivered_is_not_told_at_all() -> None:
    named = Named()
    for second in (10, 20):
        has_own(named, second, "0")
    assert record_each_skipped(named.clockwork.world, [stretch_of(named, 2)]) == Recorded(0)
    assert told(named) == []


def test_a_stretch_that_has_grown_is_told_from_where_the_record_of_it_ends() -> None:
    named = Named()
    record_skipped(named.clockwork.world, [stretch_of(named, 2)])
    assert record_each_skipped(named.clockwork.world, [stretch_of(named, 5)]) == Recorded(3)
    assert told(named) == [(10, 20, 2), (30, 50, 3)]


def test_the_rest_of_a_backfill_whose_first_fire_was_delivered_is_told_a_moment_later() -> None:
    named = Named()
    has_own(named, 10, BACKFILL)
    assert record_each_skipped(named.clockwork.world, [stretch_of(named, 3, run=BACKFILL)]) == Recorded(2)
    assert told(named) == [(10.001, 30, 2)]
    named.clockwork.clock.advance(1)
    assert record_each_skipped(named.clockwork.world, [stretch_of(named, 3, run=BACKFILL)]) == Recorded(0)
    assert told(named) == [(10.001, 30, 2)]


def test_a_backfill_whose_only_fire_was_delivered_has_no_rest() -> None:
    named = Named()
    has_own(named, 10, BACKFILL)
    assert record_each_skipped(named.clockwork.world, [stretch_of(named, 1, run=BACKFILL)]) == Recorded(0)
    assert told(named) == []


def test_of_two_stretches_the_one_without_an_answer_is_to_be_recorded_again_and_the_other_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    named = Named()
    other = named.create("other", "y").job
    save = named.clockwork.executions.save

    def no_answer(changes: list[tuple[Execution | None, Execution]]) -> list[Saved]:
        saves = save([change for change in changes if change[1].job_id == named.job.job_id])
        answers = iter(saves)
        return [
            next(answers) if after.job_id == named.job.job_id else Saved(False, None, "throttled")
            for _, after in changes
        ]

    monkeypatch.setattr(named.clockwork.executions, "save", no_answer)
    stretches = [msgspec.structs.replace(stretch_of(named, 2), job=other), stretch_of(named, 2)]
    assert record_each_skipped(named.clockwork.world, stretches) == Recorded(2, {0: "throttled"})
    with pytest.raises(Unavailable, match="throttled"):
        record_skipped(named.clockwork.world, stretches[:1])
    assert told(named) == [(10, 20, 2)]


def test_a_stretch_that_raises_is_refused_alone() -> None:
    named = Named()
    broken = msgspec.structs.replace(stretch_of(named, 2), first=Fire(named.start, "no instant", 1))  # type: ignore[arg-type]
    recorded = record_each_skipped(named.clockwork.world, [broken, stretch_of(named, 2)])
    assert (recorded.count, list(recorded.refused), recorded.uncertain) == (2, [0], {})
