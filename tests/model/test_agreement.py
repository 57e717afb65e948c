"""The page of the API's promises, the memory adapters and the AWS adapters agree on every sequence of operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from clockwork.domain.executions import Execution
from clockwork.domain.named_jobs import NamedJob
from clockwork.memory.executions import MemoryExecutions
from clockwork.memory.jobs import MemoryJobs
from clockwork.memory.timeline import MemoryTimeline
from local.emulator import Credentials, Emulator
from tests.model.comparison import Comparison
from tests.model.ledger import Expected
from tests.model.operations import WEIGHTS, Operation, draw
from tests.model.page import Page
from tests.model.shrink import shortest
from tests.model.stores import AwsStores, MemoryStores
from tests.model.subject import Subject

SEEDS = 150
EMULATOR_SEEDS = 6
LENGTH = 50


def test_memory_does_what_the_page_promises() -> None:
    heard: Counter[tuple[str, int]] = Counter()

    def compare(operations: Sequence[Operation]) -> None:
        comparison = Comparison([Subject(MemoryStores())])
        comparison.run(operations)
        heard.update(comparison.heard)

    for seed in range(SEEDS):
        found = shortest(draw(Random(seed), LENGTH), compare)
        assert found is None, f"seed {seed}\n{found}"
    kinds = set(WEIGHTS) - {"wait"}
    assert {kind for kind, status in heard if status < 400} == kinds - {"trespass"}, "each has succeeded"
    assert {kind for kind, status in heard if status >= 400} == kinds - {"list"}, "each has been refused"


@pytest.mark.parametrize("seed", range(EMULATOR_SEEDS))
def test_the_emulator_does_what_memory_does_and_the_page_promises(
    emulator: Emulator, account: Credentials, seed: int
) -> None:
    stores = AwsStores(emulator.endpoint_url, account=account.access_key)
    try:
        Comparison([Subject(MemoryStores()), Subject(stores)]).run(draw(Random(1_000 + seed), LENGTH))
    finally:
        stores.close()


class CancelsNothing(MemoryTimeline):
    """A timeline that reports a row as cancelled but does not mark it."""

    def cancel(self, partition_id: str, key: str, element: int) -> bool:
        return self.find([(partition_id, key)])[0] is not None


class LosesChanges(MemoryJobs):
    """A job store that ignores every change after the first save."""

    def save(self, before: NamedJob | None, after: NamedJob) -> bool:
        return before is not None or super().save(before, after)


class OldestFirst(MemoryExecutions):
    """Executions listed in the reverse order."""

    def list(self, job_id: str, limit: int, before: str | None) -> Sequence[Execution]:
        return super().list(job_id, limit, before)[::-1]


class EasyPage(Page):
    """A page on which every cancel comes in time."""

    def cancel(self, op: Operation) -> Expected:
        status, told = super().cancel(op)
        return status, told and {"result": "cancelled"}


def broken(**parts: Any) -> MemoryStores:
    """Memory stores in which some parts are replaced."""
    stores = MemoryStores()
    vars(stores).update(parts)
    return stores


BREAKS: dict[str, Callable[[], Comparison]] = {
    "an adapter that does not cancel": lambda: Comparison([Subject(broken(timeline=CancelsNothing()))]),
    "an adapter that loses changes": lambda: Comparison([Subject(broken(jobs=LosesChanges()))]),
    "two adapters that differ where the page is silent": lambda: Comparison(
        [Subject(MemoryStores()), Subject(broken(executions=OldestFirst()))]
    ),
    "a page that promises too much": lambda: Comparison([Subject(MemoryStores())], EasyPage),
}


@pytest.mark.parametrize("make", BREAKS.values(), ids=BREAKS)
def test_what_is_wrong_is_found_and_told_shortly(make: Callable[[], Comparison]) -> None:
    found = (shortest(draw(Random(seed), LENGTH), lambda operations: make().run(operations)) for seed in range(SEEDS))
    told = next(told for told in found if told is not None)
    assert told.count("Operation(") <= 6, told
