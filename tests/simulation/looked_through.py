"""A scene of reads: the runs of a client, and a workflow with its nodes, by their client, by a stranger, and in a loop.

Nodes are executions of their run. They are no jobs that somebody made, and nobody redrives one alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import ClockworkError, ExecutionNotFound
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import is_node
from clockwork.domain.recurrence import Every, Recurrence
from clockwork.domain.requests.activity import HOUR_MS, MINUTE_MS
from clockwork.domain.requests.operations import Kind, Meant
from clockwork.domain.requests.trail import unnoted
from clockwork.domain.workflows.definition import Node, WorkflowTarget
from clockwork.flows import access
from clockwork.flows.activity.budget import Budget
from clockwork.flows.activity.note import NOTE_MS, note_counts
from clockwork.flows.activity.read import activity_of
from clockwork.flows.activity.runs import IndexedPage, Sought, list_indexed
from clockwork.flows.operations import begin
from clockwork.flows.requests import read, redrive
from clockwork.flows.requests.holding import what_holds
from clockwork.flows.requests.quotas import Intake, Trial
from clockwork.flows.workflows.views import place_of_node
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from tests.simulation.clients import Visit, ask_again, look_at_runs
from tests.simulation.nowhere import ask_of_nothing
from tests.simulation.requests import CLIENTS, KeyedRequest
from tests.simulation.scenes import NEAR, Steps, create_key, job_of, keyed_request
from tests.simulation.stage import BEGAN_AT
from tests.simulation.targets import FAILS_ONCE

FIRST, SECOND = CLIENTS[0], CLIENTS[1]
HOOK = HttpTarget("https://good.example.com/", timeout_seconds=5)


def looked_through() -> Steps:
    """Named jobs fire, a workflow runs, and all of that is read while it goes on and when it has ended."""
    often = Recurrence(every=Every(5_000, BEGAN_AT + 2_000), max_fires=6)
    nodes = {
        "first": Node(target=HOOK, payload=msgspec.json.encode(FAILS_ONCE.decode() + "looked"), retry_policy=NEAR),
        "last": Node(target=HOOK, payload=b'"looked at"', after=("first",), retry_policy=NEAR),
    }
    job = msgspec.structs.replace(job_of(b'"looked"', 3_000), target=WorkflowTarget(nodes, 900))
    look_at_activity: Callable[[Visit], None] = partial(_look_at_activity, [])
    reads: list[Callable[[Visit], None]] = [
        _list_runs,
        _list_ended,
        _list_in_no_time,
        look_at_activity,
        _look_at_nodes,
        _try_in_vain,
        _ask_dry,
        ask_of_nothing,
    ]
    return [
        *((1_000 + 50 * number, create_key(key, recurrence=often)) for number, key in enumerate(("one", "two"))),
        (1_500, lambda visit: ask_again(visit, KeyedRequest(keyed_request("looked at", [job]), visit.now))),
        *((at + 100 * number, one) for at in (3_000, 6_500, 40_000) for number, one in enumerate(reads)),
        *((at, look_at_activity) for at in range(70_000, 300_000, 20_000)),
    ]


def _list_runs(visit: Visit) -> None:
    """Lists the runs page by page, and then no more than fit: all are the client's, the latest first."""
    for limit in (1, 100):
        after = None
        for _ in range(4):
            page = visit.call_until_answered(partial(_runs, visit.client.client_id, after, limit))
            dues = [run.due_at for run in page.runs]
            visit.watcher.require(dues == sorted(dues, reverse=True), "I1", f"runs are out of order: {dues}")
            strange = {run.client_id for run in page.runs} - {visit.client.client_id}
            visit.watcher.require(not strange, "I9", f"runs of {strange} are listed")
            if (after := page.next_after) is None:
                break


def _list_in_no_time(visit: Visit) -> None:
    """Lists jobs and runs in calls whose time is over at once: each has one read, and its page goes on behind that."""
    client = visit.client

    def flow(world: World, _: Sequence[str]) -> None:
        anything: Callable[[Any], bool] = lambda _: True  # noqa: E731 - as a route without a filter asks
        now, none = world.clock.now(), partial(Budget, world, 0)
        read.list_jobs(world, client.client_id, None, None, 100, anything, 1, none())
        read.list_runs(world, client.client_id, None, None, 100, anything, anything, 0, now, none())
        for state in State:
            ended = list_indexed(world, client, Sought(0, now, state), None, 1, none()).runs
            visit.watcher.require({run.state for run in ended} <= {state}, "I12", f"not all are {state}")

    visit.call_until_answered(flow)


def _list_ended(visit: Visit) -> None:
    """Lists what has ended by its index, page by page: each once, the latest first, and all of it the client's."""
    seen, before = list[Execution](), None
    for _ in range(9):
        page = visit.call_until_answered(partial(_ended, visit.client, before))
        seen += page.runs
        if (before := page.next_before) is None:
            break
    keys = [run.attention_key for run in seen]
    in_order = keys == sorted(set(keys), reverse=True)
    visit.watcher.require(in_order, "I12", f"ended runs are out of order: {keys}")
    strange = {run.client_id for run in seen} - {visit.client.client_id}
    visit.watcher.require(not strange, "I9", f"ended runs of {strange} are listed")
    visit.watcher.require(all(run.end.indexed for run in seen), "I12", "a run is listed that is in no index")


def _ended(client: Client, before: str | None, world: World, _: object) -> IndexedPage:
    now = world.clock.now()
    return list_indexed(world, client, Sought(0, now), before, 3, Budget(world))


def _runs(client_id: str, after: str | None, limit: int, world: World, _: object) -> read.RunPage:
    now = world.clock.now()
    anything: Callable[[Any], bool] = lambda _: True  # noqa: E731 - as a route without a filter asks
    return read.list_runs(world, client_id, None, after, limit, anything, anything, 0, now, Budget(world))


def _look_at_activity(counted: list[int], visit: Visit) -> None:
    """Counts a failure, and notes what is due: without time for a note, then with enough.

    A note that fails loses its counts, and none counts twice. `counted`: the instants of all counts so far. Nobody else
    counts for this client.
    """

    def flow(world: World, _: Sequence[str]) -> None:
        now = world.clock.now()
        counted.append(now)
        world.environment.counters.of(SECOND.client_id, now).failed += 1
        note_counts(world, now)
        note_counts(world, now + 2 * NOTE_MS)
        for most_ms in (0, None):
            found = activity_of(world, SECOND, now - 3 * HOUR_MS, now, MINUTE_MS, Budget(world, most_ms))
            shown = sum(one.failed for one in found.steps.values())
            visit.watcher.require(shown <= len(counted), "I1", f"{shown} of {len(counted)} failures are shown")

    visit.call_until_answered(flow)


def _look_at_nodes(visit: Visit) -> None:
    """Reads each run with its nodes, and what holds each."""
    records = [one for one in visit.desk.cloud.stores.executions.all() if one.client_id == visit.client.client_id]

    def flow(world: World, _: Sequence[str]) -> None:
        look_at_runs(world, records)
        for record in records:
            what_holds(world, record)
            place = place_of_node(world, record)
            visit.watcher.require((place is None) or is_node(record.job_id), "I1", f"{record.job_id} is no node")

    visit.call_until_answered(flow)


def _try_in_vain(visit: Visit) -> None:
    """Asks for nodes as if they were jobs, for what is not there, and for what is another client's: all is refused."""
    records = visit.desk.cloud.stores.executions.all()
    for run in [one for one in records if one.client_id == FIRST.client_id and not is_node(one.job_id)][:1]:
        for flow in (_find_operation, _begin_at_the_end, partial(_redrive_nowhere, run)):
            _refused(visit, run, flow)
    for node in [one for one in records if is_node(one.job_id)][:1]:
        _refused(visit, node, partial(_ask_for_job, visit, node))
        _refused(visit, node, partial(_redrive, node))
    visit.client = SECOND
    for record in [one for one in records if one.client_id == FIRST.client_id and not is_node(one.job_id)][:2]:
        _refused(visit, record, partial(_ask_for_other, visit, record))


def _ask_for_job(visit: Visit, node: Execution, world: World, _: object) -> None:
    access.get_named(world, visit.caller(world), node.job_id)


def _redrive(node: Execution, world: World, _: object) -> None:
    redrive.redrive(world, node)


def _redrive_nowhere(run: Execution, world: World, _: object) -> None:
    redrive.redrive(world, run, again=("nowhere",))


def _find_operation(world: World, _: object) -> None:
    begin.find(world, FIRST, "0-nowhere")


def _begin_at_the_end(world: World, _: object) -> None:
    asked = begin.Asked(kind=Kind.PAUSE_JOBS, meant=Meant(), by=FIRST.principals[0], max_per_second=1.0)
    client = msgspec.structs.replace(FIRST, deleting_at=world.clock.now())
    begin.begin(world, client, asked, None, unnoted)


def _ask_for_other(visit: Visit, record: Execution, world: World, _: object) -> None:
    caller = visit.caller(world)
    visit.watcher.require(access.payers(caller, record.job_id) in ([], [SECOND.client_id]), "I9", "a stranger pays")
    if access.find_execution(world, caller, record.execution_id)[1] is None:
        raise ExecutionNotFound(record.execution_id)


def _refused(visit: Visit, record: Execution, flow: Callable[[World, Sequence[str]], object]) -> None:
    try:
        visit.call_until_answered(flow)
    except ClockworkError:
        return
    visit.watcher.violated("I9", "what is refused was answered", record.job_id)


def _ask_dry(visit: Visit) -> None:
    """Asks what a create would do: a dry run counts as a preview, and makes nothing."""

    def flow(world: World, _: Sequence[str]) -> None:
        trial = Trial(Intake())
        trial.admit(world, visit.client, 1)
        trial.admit(world, visit.client, 0)

    visit.call_until_answered(flow)
