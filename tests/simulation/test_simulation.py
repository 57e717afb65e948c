"""The simulator in every test run: some seeds, seeds that once found a fault, and whether a seed repeats exactly."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cache

import pytest

from infra.table_actions import TABLE_ACTIONS
from tests.simulation.faults import PROFILES
from tests.simulation.run import Result, Run
from tests.simulation.running import RUN_OPERATIONS, RUNS_FROM
from tests.simulation.shrink import shrink

#: Each profile once in `make test`, and twice more in `make nightly`.
SEEDS = range(len(PROFILES))
MORE_SEEDS = range(len(PROFILES), 3 * len(PROFILES))
#: Seeds that once found a fault, with the fault. A seed takes the same way only with the code of that time; later it is
#: one more seed.
REGRESSIONS = {
    79: "a note of parked work was forgotten while a slow deliverer relied on it: its rows were let go by nobody",
    108: "a backfill goes on under another schedule when its job is replaced (it is judged only where that is not so)",
    117: "a fire was skipped without a word: the stretch was recorded though the queue had taken nothing, and grew",
    153: "a callback that is not owed: at level none a repeat was discarded (the checker asked for it)",
    174: "a commit that was lost on its way arrived after a later one and moved the cursor back (in memory's shards)",
    192: "a release of nothing was a call all the same",
    707: "a backfill up to now of a schedule with jitter fired a little early",
    904: "a redriven job counts as made anew, and was taken for a second one (by the checker)",
    1172: "a change of the next job under a key was held to list executions of the one before (by the checker)",
    247: "a cancel of what was redriven at level none promised that nothing would start",
    7976: "a repair that died after its pointer was taken for whole, and what it had not released was lost",
    1944: "the repeat of an ordered create overtook what its poller had yet to read",
    5847: "a run by hand that was repeated after a change was called back from both shards in which it lay",
    11313: "each probe of a circuit was spent on a parked job that had been cancelled: the others waited for ever",
    12087: "a stretch that had grown since a repeated create recorded its beginning was not told to its end",
    16345: "a job that came by message lay in a shard that had just left (the checker did not look there)",
    49: "a poller read a record, which its role does not allow, to end what the queue and the timeline refused",
    99: "a release was lost when its queue and its row were refused and no store answered about its end",
    399: "rows of others were passed behind a chain that goes on and whose next pointer was refused by a defect",
    39: "a fire that a change in a pause put before the pause, by less jitter, was released by nobody",
    2066: "a fire that left its order was let through by the order's rule, beside an earlier one that waited",
    1000120: "a run that the sweep gave up on ended while a node of it was still running",
    2900: "a head of an order began beside a retry outside that order, of before its job had this ordering key",
    6410: "a chain was behind by more than its rows are kept: its pointers had expired as they were put",
    8335: "the record of what a duplicate had started went before the row in which it was parked",
    8868: "a deliverer that had read a pause ended a one-shot behind the resume, which took its claim for the fire",
    9877: "a copy told the slot with which its invocation had begun the attempt (the checker knew no parkings of it)",
    10322: "of two tickets in one send the one without a slot had none (the checker gave it to the other one)",
    1005614: "a block of permits was given back by a late call of an earlier lease of its environment",
    1003231: "a pointer became unreadable behind its poller, which had gone on (the checker asked for a record)",
    3301: "a sweep whose read was slow took an operation out of the list that was begun meanwhile",
    334: "a lost worker's record stayed RUNNING: its message was let go, as if to be parked, with its end unrecorded",
}
#: `make test` runs the seeds and so many regressions, the last of the list; `make nightly` runs the others, too.
LAST = 2


@cache
def gone(seed: int) -> Result:
    """The result of a seed, which several tests look at."""
    return Run(seed).go()


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Silences the flows' logs, which report injected faults."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", [*SEEDS, *list(REGRESSIONS)[-LAST:]])
def test_the_invariants_hold(seed: int) -> None:
    assert gone(seed).violations == []


@pytest.mark.parametrize("seed", range(RUNS_FROM + 1, RUNS_FROM + 3))
def test_the_invariants_hold_with_runs_of_workflows_among_the_jobs(seed: int) -> None:
    result = Run(seed).go()
    assert result.violations == []
    assert {name for name in RUN_OPERATIONS if result.outcomes[name, "succeeded"]} == set(RUN_OPERATIONS)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [*MORE_SEEDS, *list(REGRESSIONS)[:-LAST]])
def test_the_invariants_hold_with_more_seeds(seed: int) -> None:
    assert Run(seed).go().violations == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [3, 10])
def test_a_seed_repeats_exactly(seed: int) -> None:
    first, second = gone(seed), Run(seed).go()
    assert first.history.digest() == second.history.digest()
    assert first.faults == second.faults


def test_two_seeds_go_different_ways() -> None:
    assert gone(1).history.digest() != Run(1 + len(PROFILES)).go().history.digest()


def test_a_violation_is_made_smaller_and_fails_again_as_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clockwork.flows.timeline.put._release_again", lambda world, rows, shards: None)
    failed = next(result for result in (Run(seed).go() for seed in range(MORE_SEEDS.stop)) if result.violations)
    smallest, operations, faults = shrink(failed)
    again = Run(failed.seed, operations, faults).go()
    assert operations < failed.operations
    assert again.violations == smallest.violations
    assert again.violations[0].invariant == failed.violations[0].invariant


def test_a_call_that_a_role_does_not_allow_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLE_ACTIONS["poller"], "shards", "GetItem")
    found = [str(violation) for violation in Run(1).go().violations]
    assert any("the poller may not UpdateItem in shards" in one for one in found)
