"""A run is cancelled, runs out of time, or is redriven."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
import pytest

from clockwork.domain.errors import ExecutionNotFound, InvalidRequest, NotDead, Unavailable
from clockwork.domain.executions import DAY_MS, Execution, State
from clockwork.domain.lifecycle.awaiting import CLAIM_GRACE_MS, release_of
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.lifecycle.reports import Heartbeat
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery
from clockwork.domain.runs.beginning import WINDS_DOWN_MS, deadline_of
from clockwork.domain.storage.codec import encode_release
from clockwork.domain.workflows.definition import Node
from clockwork.flows.requests.cancel import CancelAnswer, cancel_execution
from clockwork.flows.requests.redrive import DeadFilter, redrive, redrive_dead
from clockwork.flows.requests.reporting import Reported, beat, report
from clockwork.flows.sweep.dead_letters import MOST_SWEEPS, SweepReport, sweep_dead_letters
from tests.support.dying import Crash, Dying, Way
from tests.support.flowing import Flowing, node
from tests.unit.flows.workflows.test_runs import MINE, asked

DIAMOND = {"a": node(), "b": asked("a"), "c": asked("a"), "d": node("b", "c")}


def begun(nodes: Mapping[str, Node] = DIAMOND, **job: Any) -> tuple[Flowing, dict[str, Delivery]]:
    """A run whose nodes that end by callback are at work, with their attempts by name."""
    flowing = Flowing(nodes, **job)
    told: dict[str, Delivery] = {}
    flowing.on_attempt = lambda delivery, name: told.__setitem__(name, delivery)
    return flowing.run(30), told


def cancel(flowing: Flowing, execution_id: str = "") -> CancelAnswer:
    return cancel_execution(flowing.world, MINE, execution_id or flowing.execution_id)[0]


def tell(flowing: Flowing, delivery: Delivery, state: State = State.SUCCEEDED) -> None:
    report(flowing.world, MINE, delivery.execution_id, str(delivery.token), Reported(state, b"{}"))


def names(flowing: Flowing, executions: Iterable[Execution]) -> list[str]:
    nodes = {one.execution_id: name for name, one in flowing.records().items()}
    return sorted(nodes.get(one.execution_id, "run") for one in executions)


def test_a_cancel_lists_what_runs_and_nothing_starts_behind_it() -> None:
    flowing, told = begun()
    answer = cancel(flowing)
    assert answer.verdict is Verdict.RUNNING
    assert names(flowing, answer.executions) == ["b", "c", "run"]
    # What runs hears of it, and may still succeed.
    tell(flowing, told["b"])
    assert beat(flowing.world, MINE, told["c"].execution_id, str(told["c"].token), Heartbeat(0)).cancel_noted_at
    tell(flowing, told["c"], State.CANCELLED)
    flowing.run(30)
    assert flowing.marks == {"a": "ok", "b": "ok", "c": "bad", "d": "off"}
    assert flowing.record.state is State.CANCELLED
    assert flowing.started == ["a", "b", "c"]


def test_a_receiver_that_goes_on_is_ended_once_its_time_to_stop_is_over() -> None:
    flowing, _ = begun()
    cancel(flowing)
    flowing.run(55)
    assert flowing.record.state is State.RUNNING
    assert flowing.run(40).record.state is State.CANCELLED
    assert {flowing.records()[name].state for name in "bc"} == {State.CANCELLED}


def test_a_cancel_of_a_run_none_of_whose_nodes_run_ends_it_at_once() -> None:
    flowing = Flowing({"a": node(), "b": node("a", delay_seconds=600), "c": node("b")}).run(30)
    answer = cancel(flowing)
    assert (answer.verdict, list(answer.executions)) == (Verdict.CANCELLED, [])
    assert flowing.record.state is State.CANCELLED
    assert flowing.run(900).started == ["a"]
    # The release of b was on its way: it ends by what its run's sets say.
    assert flowing.records()["b"].state is State.CANCELLED
    assert cancel(flowing).verdict is Verdict.CANCELLED


def test_a_cancel_before_the_run_has_begun_starts_nothing() -> None:
    flowing = Flowing(DIAMOND)
    assert cancel(flowing).verdict is Verdict.CANCELLED
    assert flowing.run(60).started == []
    assert flowing.clockwork.runs.stored == {}


def test_one_node_is_cancelled_and_counts_as_failed() -> None:
    flowing, told = begun()
    answer = cancel(flowing, told["b"].execution_id)
    assert (answer.verdict, names(flowing, answer.executions)) == (Verdict.RUNNING, ["b"])
    tell(flowing, told["b"], State.CANCELLED)
    tell(flowing, told["c"])
    flowing.run(30)
    assert flowing.marks == {"a": "ok", "b": "bad", "c": "ok", "d": "off"}
    assert flowing.record.state is State.DEAD


def test_a_node_that_waits_is_cancelled_and_its_run_goes_on() -> None:
    nodes = {
        "a": node(),
        "b": node("a", retry_policy=RetryPolicy(jitter="none", initial_seconds=300)),
        "undo": node("b", when="failed"),
    }
    flowing = Flowing(nodes, fail="b").run(30)
    waiting = flowing.records()["b"]
    assert waiting.state is State.FAILED
    assert cancel(flowing, waiting.execution_id).verdict is Verdict.CANCELLED
    flowing.run(30)
    assert flowing.started == ["a", "b", "undo"]
    assert flowing.record.state is State.DEAD


def test_the_time_of_a_run_is_over() -> None:
    flowing, _ = begun(timeout_seconds=300)
    flowing.run(400)
    assert flowing.record.state is State.DEAD
    assert flowing.record.attempts[-1].state is State.TIMED_OUT
    assert flowing.record.reason == "permanent failure: its timeoutSeconds 300 were over for: b, c"
    assert flowing.started == ["a", "b", "c"]
    assert not flowing.run(1_000).clockwork.queue.messages


def given_up() -> tuple[Flowing, dict[str, Delivery], Callable[[], SweepReport]]:
    """A run whose time is over while its nodes run, with its letter back for the last time, and a sweep."""
    flowing, told = begun(timeout_seconds=300)
    clockwork, record = flowing.clockwork, flowing.record
    clockwork.clock.at = deadline_of(record) + CLAIM_GRACE_MS
    letter = clockwork.queue.put(encode_release(msgspec.structs.replace(release_of(record), sweeps=MOST_SWEEPS)))
    clockwork.queue.dead[letter] = clockwork.queue.messages.pop(letter)
    return flowing, told, lambda: sweep_dead_letters(flowing.world, clockwork.clock.now() + 60_000)


def test_a_run_that_is_given_up_ends_behind_its_nodes() -> None:
    flowing, told, sweep = given_up()
    assert sweep().left == 1
    assert flowing.record.state is State.RUNNING
    for name in "bc":
        assert flowing.records()[name].cancel_noted_at is not None
        tell(flowing, told[name], State.CANCELLED)
    flowing.run(600)
    assert flowing.marks == {"a": "ok", "b": "bad", "c": "bad", "d": "off"}
    assert (flowing.record.state, flowing.record.attempts[-1].state) == (State.DEAD, State.TIMED_OUT)
    assert (sweep().absorbed, flowing.clockwork.queue.dead) == (1, {})


def test_a_run_whose_nodes_never_end_is_given_up_a_day_later() -> None:
    """Nothing brings a node to its end any more whose message was lost, and a letter is kept for 14 days."""
    flowing, _, sweep = given_up()
    flowing.clockwork.queue.messages.clear()
    flowing.clockwork.clock.at = deadline_of(flowing.record) + WINDS_DOWN_MS - 1
    assert sweep().left == 1
    flowing.clockwork.queue.messages.clear()
    flowing.clockwork.clock.at += 600_000
    assert sweep().dead == 1
    assert flowing.record.state is State.DEAD
    assert flowing.records()["b"].state is State.RUNNING


def test_a_redrive_runs_what_failed_and_what_follows_and_nothing_else() -> None:
    nodes = {"a": node(), "b": node("a"), "c": node("a"), "d": node("b", "c"), "undo": node("b", when="failed")}
    flowing = Flowing(nodes, fail="b").run(30)
    assert flowing.record.state is State.DEAD
    before = flowing.records()
    flowing.fail.clear()
    flowing.started.clear()
    redrive(flowing.world, flowing.record)
    assert flowing.run(60).record.state is State.SUCCEEDED
    assert flowing.started == ["b", "d"]
    assert flowing.record.attempt == 2
    assert flowing.marks == {"a": "ok", "b": "ok", "c": "ok", "d": "ok", "undo": "off"}
    after = flowing.records()
    assert {name for name in before if after[name] == before[name]} == {"a", "c", "undo"}
    with pytest.raises(NotDead, match="it is SUCCEEDED"):
        redrive(flowing.world, flowing.record)


def test_a_redrive_from_a_node_runs_it_again_with_all_behind_it() -> None:
    nodes = {"a": node(), "b": node("a"), "c": node("a"), "d": node("b")}
    flowing = Flowing(nodes, fail="c").run(30)
    flowing.fail.clear()
    flowing.started.clear()
    with pytest.raises(InvalidRequest, match=r'/from/1 names no node: "x"'):
        redrive(flowing.world, flowing.record, again=("b", "x"))
    redrive(flowing.world, flowing.record, again=("b",))
    flowing.run(60)
    assert sorted(flowing.started) == ["b", "c", "d"]
    assert flowing.record.state is State.SUCCEEDED


def test_a_result_lives_as_long_as_its_run_may_be_redriven() -> None:
    nodes = {"a": node(), "b": node("a", payload={"of": {"$from": "/nodes/a/result"}}), "c": node("b")}
    flowing = Flowing(nodes, fail="b")
    flowing.bodies["a"] = b"[17]"
    first = flowing.run(30).records()["a"]
    redrive(flowing.world, flowing.record)
    assert flowing.run(60).record.state is State.DEAD
    assert flowing.records()["a"] == first, "a redrive on the same day writes nothing of what it keeps"
    for day in (25, 50):
        flowing.clockwork.clock.at = first.due_at + day * DAY_MS
        for one in [one for one in flowing.clockwork.executions.all() if one.expires_at < flowing.clockwork.clock.at]:
            del flowing.clockwork.executions._records[one.job_id, one.execution_id]
        redrive(flowing.world, flowing.record)
        flowing.run(60)
        assert flowing.records()["a"].expires_at >= flowing.record.expires_at
    assert flowing.started == ["a", *["b"] * 4]
    flowing.fail.clear()
    redrive(flowing.world, flowing.record)
    assert flowing.run(60).record.state is State.SUCCEEDED
    kept = flowing.records()["a"]
    assert (kept.end.report, kept.revision) == (first.end.report, first.revision + 2)


def test_a_run_whose_time_was_over_goes_on_by_a_redrive() -> None:
    flowing, told = begun(timeout_seconds=300)
    flowing.run(400)
    flowing.started.clear()
    told.clear()
    assert redrive_dead(flowing.world, "acme", DeadFilter(), 10, None, admit=lambda *_: None).changed == 1
    flowing.run(30)
    assert flowing.started == ["b", "c"]
    tell(flowing, told["b"])
    tell(flowing, told["c"])
    flowing.run(30)
    assert flowing.started == ["b", "c", "d"]
    assert flowing.record.state is State.SUCCEEDED


def test_a_watch_that_meets_a_redriven_run_does_not_begin_it() -> None:
    flowing = Flowing({"a": node(), "b": node("a")}, fail="b").run(10)
    messages = flowing.clockwork.queue.messages
    watches = dict(messages)
    assert watches
    flowing.fail.clear()
    redrive(flowing.world, flowing.record)
    # The watch of the first generation comes before the release of the redrive.
    releases = {key: messages.pop(key) for key in messages.keys() - watches.keys()}
    flowing.clockwork.clock.advance(120_000)
    flowing.clockwork.deliver_visible()
    assert not messages, "the watch sends nothing"
    assert flowing.record.state is State.PENDING
    messages.update(releases)
    assert flowing.run(60).record.state is State.SUCCEEDED
    assert flowing.started == ["a", "b", "b"]


def test_a_node_is_not_redriven_for_itself() -> None:
    flowing = Flowing({"a": node()}, fail="a").run(30)
    with pytest.raises(NotDead, match="redrive the run"):
        redrive(flowing.world, flowing.records()["a"])


SLOW = {"a": node(), "b": asked("a"), "late": node("a", delay_seconds=100), "c": node("b")}


@pytest.mark.parametrize("way", ["dies", "mute", "refused"])
def test_a_cancel_whose_process_dies_is_done_by_its_repeat_or_by_the_watch(way: Way) -> None:
    for is_repeated in (True, False):
        for last in range(1, 12):
            flowing, told = begun(SLOW)
            dying = Dying(flowing.world, last, way)
            try:
                cancel_execution(dying.world, MINE, flowing.execution_id)
            except (Crash, Unavailable):
                pass
            else:
                assert len(dying.calls) < last
            is_noted = flowing.record.cancel_noted_at is not None
            if is_repeated:
                assert names(flowing, cancel(flowing).executions) == ["b", "run"]
            tell(flowing, told["b"])
            flowing.run(1_500)
            if is_repeated or is_noted:
                assert flowing.started == ["a", "b"], (last, way, dying.calls)
                assert flowing.record.state is State.CANCELLED, (last, way)
            else:
                assert flowing.record.state is State.SUCCEEDED


@pytest.mark.parametrize("is_repeated", [True, False])
def test_an_end_that_an_api_recorded_before_it_died_is_found(*, is_repeated: bool) -> None:
    flowing, told = begun()
    tell(flowing, told["b"])
    dying = Dying(flowing.world, 1)
    delivery = told["c"]
    said = Reported(State.SUCCEEDED, b"{}")
    with pytest.raises(Crash):
        report(dying.world, MINE, delivery.execution_id, str(delivery.token), said)
    assert flowing.records()["c"].state is State.SUCCEEDED
    if is_repeated:
        tell(flowing, delivery)
    # Nobody else tells of it: the watch of the run does, a few minutes later.
    assert flowing.run(20 if is_repeated else 900).record.state is State.SUCCEEDED
    assert flowing.started == ["a", "b", "c", "d"]


def test_a_run_whose_sets_are_gone_ends_and_can_be_redriven() -> None:
    flowing, told = begun()
    flowing.clockwork.runs.stored.clear()
    tell(flowing, told["b"])
    tell(flowing, told["c"])
    assert flowing.run(900).record.state is State.DEAD
    assert flowing.record.reason == "permanent failure: its progress was lost: redrive it, and all of it runs again"
    flowing.started.clear()
    told.clear()
    redrive(flowing.world, flowing.record)
    flowing.run(30)
    tell(flowing, told["b"])
    tell(flowing, told["c"])
    assert flowing.run(30).record.state is State.SUCCEEDED
    assert flowing.started == ["a", "b", "c", "d"]


def test_nothing_of_a_run_starts_once_its_client_was_deleted() -> None:
    flowing, told = begun()
    client = flowing.clockwork.clients.get("acme")
    assert client is not None
    now = flowing.clockwork.clock.now()
    flowing.clockwork.clients.put(msgspec.structs.replace(client, deleting_at=now, revision=client.revision + 1))
    for delivery in (told["b"], told["c"]):
        with pytest.raises(ExecutionNotFound):
            tell(flowing, delivery)
    flowing.run(8_000)
    assert flowing.record.state is State.CANCELLED
    assert flowing.started == ["a", "b", "c"]


def test_a_run_is_not_started_while_its_client_is_paused_and_a_begun_one_parks_its_nodes() -> None:
    flowing = Flowing({"a": node(), "b": node("a", delay_seconds=60)}).run(30)
    client = flowing.clockwork.clients.get("acme")
    assert client is not None
    flowing.clockwork.clients.put(msgspec.structs.replace(client, paused=True, revision=client.revision + 1))
    flowing.run(120)
    assert flowing.records()["b"].state is State.PARKED
    assert flowing.run(1).record.state is State.RUNNING
    # A cancel ends what is parked.
    assert cancel(flowing).verdict is Verdict.CANCELLED
    assert flowing.records()["b"].state is State.CANCELLED
