"""A process that slept over what others did changes nothing of theirs."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import msgspec
import pytest

from clockwork.domain.errors import NewerFormat, Unavailable, Undecodable
from clockwork.domain.executions import State
from clockwork.domain.ids import NodeJob, run_of
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.runs.beginning import sets_of
from clockwork.domain.workflows.progress import Marks, Sets, opened
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.requests.cancel import CancelAnswer, cancel_execution
from clockwork.flows.requests.redrive import redrive
from clockwork.flows.workflows.advance import Advance
from clockwork.flows.workflows.ends import add_ends
from clockwork.flows.workflows.look import ENDED, STOPPED, UNKNOWN, objections
from clockwork.flows.world import World
from clockwork.memory.executions import MemoryRuns
from tests.support.flowing import Flowing, node
from tests.support.turns import Turn
from tests.unit.flows.workflows.test_runs import MINE, asked
from tests.unit.flows.workflows.test_stops import begun, tell


def test_nodes_that_are_decided_against_are_so_in_the_generation_that_decided() -> None:
    flowing, _ = begun({"a": node(), "b": asked("a"), "c": node("a", when="failed"), "d": node("c")})
    stale = msgspec.structs.replace(flowing.sets, marks=Marks(ok=flowing.sets.numbers([0])))
    # Another process opens the next generation meanwhile.
    flowing.clockwork.runs.stored[stale.run_id] = opened(stale, 2, [0], stale.expires_at)
    Advance(flowing.world, stale, flowing.record).go([0])
    assert flowing.sets.marks.off == {1_002, 1_003}
    assert flowing.sets.outcomes() == {}


@pytest.mark.parametrize("steps", [(0, 1), (1, 0), (0, 0, 1, 1), (0, 1, 1, 0)])
def test_of_two_ends_at_once_one_at_least_releases_what_joins_them(steps: tuple[int, ...]) -> None:
    flowing, told = begun()
    for name in "bc":
        tell(flowing, told[name])
    flowing.clockwork.queue.messages.clear()
    ended = flowing.records()
    ports = ("runs", "executions", "releases")
    turns = [
        Turn(lambda world, name=name: add_ends(world, [ended[name]]), flowing.world, ports)  # type: ignore[misc]
        for name in "bc"
    ]
    while not all(turn.ended for turn in turns):
        for number in steps:
            turns[number].step()
    assert len(flowing.clockwork.queue.messages) >= 1
    assert flowing.run(30).record.state is State.SUCCEEDED
    assert flowing.started == ["a", "b", "c", "d"]


def test_sets_that_were_put_stopped_meanwhile_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    flowing = Flowing({"a": node()})
    runs, get = flowing.clockwork.runs, MemoryRuns.get

    def overtaken(run_ids: list[str]) -> list[Sets | None]:
        found = list(get(runs, run_ids))
        record = flowing.record
        if found == [None] and record.awaited is not None:
            # A cancel comes between this read and the put that follows.
            noted = record.changed(cancel_noted_at=flowing.clockwork.clock.now())
            flowing.clockwork.executions.save([(record, noted)])
            runs.put_new(sets_of(record, 0, stop=record.attempt))
        return found  # type: ignore[return-value]

    monkeypatch.setattr(runs, "get", overtaken)
    assert flowing.run(30).record.state is State.CANCELLED
    assert flowing.started == []


def test_a_cancel_that_comes_before_its_generation_is_open_stops_it(monkeypatch: pytest.MonkeyPatch) -> None:
    flowing = Flowing({"a": node(), "b": node("a")}, fail="b").run(30)
    flowing.fail.clear()
    redrive(flowing.world, flowing.record)
    runs, answers = flowing.clockwork.runs, list[CancelAnswer]()

    def overtaken(before: Sets, after: Sets) -> Sets | None:
        if not answers:
            answers.append(cancel_execution(flowing.world, MINE, flowing.execution_id)[0])
        return MemoryRuns.open(runs, before, after)

    monkeypatch.setattr(runs, "open", overtaken)
    assert flowing.run(30).record.state is State.CANCELLED
    assert [one.verdict for one in answers] == [Verdict.RUNNING]
    assert flowing.started == ["a", "b"]
    assert flowing.sets.generation == flowing.sets.stop == 2


def test_a_node_that_starts_behind_the_answer_to_a_cancel_is_listed_in_it() -> None:
    behind = 0
    for first, second in product(range(7), range(7)):
        flowing = Flowing({"a": node(delay_seconds=50)}).run(30)
        flowing.clockwork.clock.advance(30_000)
        messages = [Message(one.message_id, one.body, 1) for one in flowing.clockwork.queue.receive(10)]
        answers = list[CancelAnswer]()
        client = turn_of(flowing, lambda world: answers.append(cancel_execution(world, MINE, flowing.execution_id)[0]))  # noqa: B023
        deliverer = turn_of(flowing, lambda world: deliver_batch(world, messages, world.clock.now() + 60_000))  # noqa: B023
        # The client has come so far, then the deliverer so far, and then the client has its answer.
        for turn, steps in ((client, first), (deliverer, second)):
            for _ in range(steps):
                turn.step()
        client.finish()
        had_started = bool(flowing.started)
        deliverer.finish()
        assert (client.fault, deliverer.fault) == (None, None)
        if flowing.started and not had_started:
            behind += 1
            listed = {(one.execution_id, one.attempt) for one in answers[0].executions}
            assert (flowing.records()["a"].execution_id, 1) in listed, (first, second)
    assert behind > 0


def turn_of(flowing: Flowing, work: Callable[[World], object]) -> Turn:
    return Turn(work, flowing.world, ("executions", "runs", "releases", "targets"))


def test_the_look_objects_to_what_its_run_does_not_want_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    flowing, _ = begun({"a": node(), "b": asked("a")})
    sets = flowing.sets
    run_id = run_of(flowing.execution_id)
    wanted, ended, old = (
        NodeJob("p000", run_id, generation, index).job_id for generation, index in ((1, 1), (1, 0), (2, 1))
    )

    def said(stored: object) -> list[object]:
        monkeypatch.setattr(flowing.clockwork.runs, "get", lambda run_ids: [stored for _ in run_ids])
        return list(objections(flowing.world, [wanted, ended, old]))

    assert said(sets) == [None, ENDED, ENDED]
    assert said(msgspec.structs.replace(sets, stop=1)) == [STOPPED] * 3
    assert said(None) == [UNKNOWN] * 3
    assert said(Undecodable("odd")) == [UNKNOWN] * 3
    newer = NewerFormat("newer")
    assert said(newer) == [newer] * 3

    def unavailable(_: object) -> None:
        raise Unavailable("out")

    monkeypatch.setattr(flowing.clockwork.runs, "get", unavailable)
    assert all(isinstance(one, Unavailable) for one in objections(flowing.world, [wanted]))
