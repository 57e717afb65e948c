"""Named jobs run by hand beside their schedule: once now, or as a backfill of a range of the past."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

from clockwork.domain.errors import KeyReused
from clockwork.domain.fires.backfills import fires_of_range, plan_backfill
from clockwork.domain.fires.chains import expand
from clockwork.domain.ids import decode_execution
from clockwork.domain.keys import BEGINNING, END, edge_key
from clockwork.domain.named.changes import cancelled, paused, replaced
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.flows.named import trigger
from clockwork.flows.named.trigger import run_now
from clockwork.flows.poll.expand import Silence, visit_rows
from clockwork.targets.message import Payload
from tests.support.named import Named

#: Of a client without caps.
backfill = partial(trigger.backfill, admit=lambda *_: None)


def test_run_now_leaves_the_schedule_alone_and_works_while_paused() -> None:
    named = Named()
    named.run(5)
    named.change(paused(None))
    first = run_now(named.clockwork.world, named.stored, "key")
    assert run_now(named.clockwork.world, named.stored, "key") == first
    assert named.run(30) == [5.0]
    assert decode_execution(first).run.startswith("r")
    named.change(cancelled(None))
    assert named.run(30) == []


def test_a_run_of_a_job_that_is_deleted_meanwhile_does_not_start() -> None:
    named = Named()
    run_now(named.clockwork.world, named.stored, None)
    named.change(cancelled(None))
    assert named.run(30) == []


def test_a_backfill_fires_a_past_range_at_its_rate_beside_the_live_fires() -> None:
    named = Named()
    named.run(101)
    planned = backfill(named.clockwork.world, named.stored, named.start, named.start + 95_000, 0.5, "key")
    assert planned.count == 10
    again = backfill(named.clockwork.world, named.stored, named.start, named.start + 95_000, 0.5, "key")
    assert again.backfill_id == planned.backfill_id
    due = named.run(60)
    live = [float(s) for s in range(110, 170, 10)]
    assert sorted(due) == sorted([0.0, *[float(s) for s in range(10, 100, 10)], *live])
    runs = [d for d in named.clockwork.targets.delivered if planned.backfill_id in d.execution_id]
    assert len(runs) == 10


def test_a_backfill_goes_on_over_a_pause_and_a_change_and_the_rest_is_skipped_under_another_timing() -> None:
    named = Named()
    named.run(101)
    backfill(named.clockwork.world, named.stored, named.start, named.start + 95_000, 0.2, "key")
    named.run(11)
    named.change(paused(None))
    assert len(named.run(10)) == 2
    named.change(replaced(named.definition(payload=Payload(b"2")), b'"y"'))
    assert len(named.run(10)) == 2
    assert named.clockwork.targets.delivered[-1].occurrence.payload.body == b"2"
    named.change(replaced(named.definition(every_ms=7_000), b'"z"'))
    left = 10 - len([e for e in named.executions() if e.execution_id.rpartition(".")[2].startswith("b")])
    released_ahead = len(named.run(100))
    told = [
        e.end.skipped for e in named.executions() if e.end.skipped is not None and "backfill" in e.end.skipped.reason
    ]
    assert sum(one.count for one in told) == left - released_ahead


def test_a_run_by_hand_goes_by_the_definition_that_its_job_has_when_it_starts() -> None:
    named = Named()
    run_now(named.clockwork.world, named.stored, None)
    named.change(replaced(named.definition(payload=Payload(b"2")), b'"y"'))
    assert named.run(5) == [0.0]
    assert named.clockwork.targets.delivered[-1].occurrence.payload.body == b"2"


def test_a_backfill_that_is_repeated_after_another_timing_is_another_request() -> None:
    named = Named()
    named.run(100)
    asked = (named.start, named.start + 90_000, 0.1, "key")
    first = backfill(named.clockwork.world, named.job, *asked)
    assert backfill(named.clockwork.world, named.job, *asked) == first
    named.change(replaced(named.definition(payload=Payload(b"2")), b'"y"'))
    assert backfill(named.clockwork.world, named.stored, *asked) == first
    named.change(replaced(named.definition(every_ms=7_000), b'"z"'))
    named.run(100)
    with pytest.raises(KeyReused, match=r"was used for another request$"):
        backfill(named.clockwork.world, named.job, *asked)


def test_a_backfill_goes_on_where_it_is_read_though_its_job_has_moved() -> None:
    named = Named()
    named.run(100)
    planned = backfill(named.clockwork.world, named.job, named.start, named.start + 90_000, 0.02, None)
    home = named.job.partition_id
    moved = msgspec.structs.replace(named.stored, partition_id="p001" if home == "p000" else "p000")
    assert named.clockwork.jobs.save(named.stored, moved)
    rows = named.clockwork.timeline.read(home, BEGINNING, END, 100).rows
    visits = list(
        visit_rows(
            named.clockwork.world,
            rows,
            edge_key(named.clockwork.clock.at),
            100,
            named.clockwork.clock.at,
            Silence(),
        )
    )
    assert {row.partition_id for visited in visits for row in visited.following} == {home}
    named.run(600)
    runs = {d.execution_id for d in named.clockwork.targets.delivered if planned.backfill_id in d.execution_id}
    assert len(runs) == planned.count == 10


def test_a_backfill_up_to_now_delivers_no_fire_before_its_jitter_has_it_due() -> None:
    every = Recurrence(every=Every(10_000, 1_700_000_000_000), jitter_seconds=9)
    named = Named(recurrence=every)
    start = named.start
    for now in range(start + 100_000, start + 400_000, 1_000):
        planned = plan_backfill(named.job, f"b{now}", fires_of_range(named.job, start, now), now, 1_000.0, now)
        assert planned.pointer is not None
        releases = expand(named.job, planned.pointer, END, now, 1_000).releases
        assert all(release.run_at >= release.occurrence.due_at for release in releases)


@pytest.mark.parametrize("change_at_s", [None, 25, 500])
def test_a_backfill_has_no_fire_behind_the_last_one(change_at_s: int | None) -> None:
    named = Named(max_fires=3)
    if change_at_s is not None:
        named.run(change_at_s)
        changed = named.definition(payload=Payload(b"2"), max_fires=3)
        named.change(replaced(changed, b'"y"'))
    named.run(1_000)
    before = len(named.clockwork.targets.delivered)
    for from_s, to_s, fires in [(1, 900, [10, 20, 30]), (15, 25, [20]), (30, 900, [30]), (31, 900, [])]:
        asked = (named.start + from_s * 1_000, named.start + to_s * 1_000)
        planned = backfill(named.clockwork.world, named.stored, *asked, 1.0, None)
        assert planned.count == len(fires)
        assert [due for due in named.run(60) if due] == fires
    assert len(named.clockwork.targets.delivered) == before + 5
