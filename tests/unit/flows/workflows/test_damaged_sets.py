"""The sets of a run cannot be read: the run ends, a redrive or a cancel puts them anew, and nobody else is hurt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import Undecodable, Unreadable
from clockwork.domain.executions import State
from clockwork.domain.ids import run_of
from clockwork.domain.workflows.progress import Marks, Sets, is_sound, opened
from clockwork.flows.requests.cancel import cancel_execution
from clockwork.flows.requests.redrive import redrive
from clockwork.flows.workflows.ends import add_ends
from clockwork.memory.executions import MemoryRuns
from tests.support.flowing import Flowing, node
from tests.unit.flows.workflows.test_runs import MINE


class DamagedRuns(MemoryRuns):
    """Runs of which the sets of some cannot be read, until they are put anew."""

    def __init__(self, damaged: Sequence[str], stored: dict[str, Sets]) -> None:
        super().__init__()
        self.stored, self.damaged = stored, set(damaged)

    def get(self, run_ids: Sequence[str]) -> Sequence[Sets | Unreadable | None]:
        return [Undecodable("odd") if one in self.damaged else self.stored.get(one) for one in run_ids]

    def put_new(self, sets: Sets) -> bool:
        if sets.run_id in self.damaged:
            self.damaged.remove(sets.run_id)
            del self.stored[sets.run_id]
        return super().put_new(sets)

    def _put(self, sets: Sets) -> Sets:
        if sets.run_id in self.damaged:
            raise Undecodable("odd")
        return super()._put(sets)


def damaged(monkeypatch: pytest.MonkeyPatch) -> Flowing:
    """A run whose second node waits, and whose sets cannot be read from now on."""
    flowing = Flowing({"a": node(), "b": node("a", delay_seconds=100), "c": node("b")}, timeout_seconds=600).run(20)
    assert flowing.started == ["a"]
    stored = flowing.clockwork.runs
    runs = DamagedRuns([run_of(flowing.execution_id)], stored.stored)
    for name in ("get", "put_new", "_put"):
        monkeypatch.setattr(stored, name, getattr(runs, name))
    return flowing


def test_a_run_whose_sets_cannot_be_read_ends_and_a_redrive_runs_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    flowing = damaged(monkeypatch).run(1_000)
    dead = flowing.record
    assert dead.state is State.DEAD
    assert flowing.started == ["a"]
    redrive(flowing.world, dead)
    assert flowing.run(300).record.state is State.SUCCEEDED
    assert flowing.started == ["a", "a", "b", "c"]


def test_a_run_whose_sets_cannot_be_read_is_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    flowing = damaged(monkeypatch)
    cancel_execution(flowing.world, MINE, flowing.execution_id)
    flowing.run(200)
    assert flowing.record.state is State.CANCELLED
    assert flowing.started == ["a"]


def test_a_record_that_is_no_nodes_fails_alone_among_those_that_have_ended() -> None:
    flowing = Flowing({"a": node(), "b": node("a")}, fail="b").run()
    good = flowing.records()["a"]
    odd = msgspec.structs.replace(good, job_id="wodd")
    assert list(add_ends(flowing.world, [odd, good])) == [0]


def test_sets_whose_fields_contradict_each_other_are_not_sound() -> None:
    flowing = Flowing({"a": node(), "b": node("a"), "c": node("b")}, fail="b").run()
    first = flowing.sets
    again = opened(first, 2, [1], first.expires_at)
    assert is_sound(first)
    assert is_sound(again)
    ended = msgspec.structs.replace(again, marks=Marks(ok=again.numbers(range(3))))
    assert is_sound(opened(ended, 3, [], ended.expires_at))
    odd: list[dict[str, Any]] = [
        {"generation": 9},
        {"generation": 1},
        {"generations": bytes([1, 2, 3])},
        {"generations": bytes([0, 2, 2])},
        {"generations": bytes([1, 2])},
        {"stop": 256},
        {"partition_id": "x"},
    ]
    assert not any(is_sound(msgspec.structs.replace(again, **one)) for one in odd)
