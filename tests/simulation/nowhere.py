"""Asks about what is nowhere: ends of unknown executions, nodes of lost runs, operations that nobody began."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

import msgspec

from clockwork.domain.clients import Client
from clockwork.domain.errors import ClientDeleting, ExecutionNotFound, NotDead, PartitionThrottled, Unavailable
from clockwork.domain.executions import Execution, Kept, State
from clockwork.domain.ids import NodeJob, decode_node, derive, is_node, only_execution, run_of
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.requests import operations
from clockwork.domain.requests.operations import Kind, Meant
from clockwork.domain.requests.reading import Kind as Paced
from clockwork.domain.requests.trail import unnoted
from clockwork.domain.runs.beginning import is_run, watch_at
from clockwork.domain.workflows.progress import Sets
from clockwork.flows.ends.events import told_in
from clockwork.flows.ends.tell import tell
from clockwork.flows.operations import begin
from clockwork.flows.operations.turn import turn
from clockwork.flows.requests.cancel import cancel_execution
from clockwork.flows.requests.quotas import Intake, Trial
from clockwork.flows.requests.reading import Reading
from clockwork.flows.requests.redrive import redrive
from clockwork.flows.requests.reporting import Reported, report, require_owner
from clockwork.flows.workflows import ends, look
from clockwork.flows.workflows.views import place_of_node
from clockwork.flows.workflows.watching import watch
from clockwork.flows.world import World
from clockwork.targets.message import Told
from tests.simulation.clients import Visit

LOST_RUN = derive("lost")


def ask_of_nothing(visit: Visit) -> None:
    """Asks about what is nowhere. Each answer says that, and nothing is changed."""
    records = [one for one in visit.desk.cloud.stores.executions.all() if one.client_id == visit.client.client_id]
    runs = [one for one in records if not is_node(one.job_id)][:1]
    nodes = [one for one in records if is_node(one.job_id) and one.is_final][:1]
    flows: list[Callable[[World, Sequence[str]], object]] = [
        *(partial(_tell, visit, run) for run in runs),
        *(partial(_own, visit, run) for run in runs),
        *(partial(_end_a_lost_node, visit, node) for node in nodes),
        *(partial(_watch_early, run) for run in records if is_run(run)),
        partial(_ask_freely, visit),
        partial(_turn_nothing, visit),
    ]
    for flow in flows:
        visit.call_until_answered(flow)


def _tell(visit: Visit, run: Execution, world: World, _: object) -> None:
    """An event may claim to be about anything."""
    elsewhere = only_execution(run.job_id, run.due_at + 1)
    awaited = [tell(world, Told("task", "succeeded", execution_id=about)) for about in ("", "nowhere", elsewhere)]
    visit.watcher.require(not any(awaited), "I1", f"an end of nothing was awaited: {awaited}")
    foreign = told_in('{"source": "aws.health", "detail-type": "AWS Health Event", "detail": {}}')
    visit.watcher.require(foreign is None, "I1", f"an event of another service tells of {foreign}")


def _own(visit: Visit, run: Execution, world: World, _: object) -> None:
    """A client that is gone has no reports, and what has no record has none and is not redriven."""
    elsewhere = only_execution(run.job_id, run.due_at + 1)
    require_owner(world, msgspec.structs.replace(run, client_id="nobody"))
    with suppress(ExecutionNotFound):
        require_owner(world, msgspec.structs.replace(run, created_at=-1))
    with suppress(ExecutionNotFound):
        report(world, visit.caller(world), elsewhere, "no token", Reported(State.SUCCEEDED))
        visit.watcher.violated("I1", "a report of nothing was taken", run.job_id)
    with suppress(ExecutionNotFound, NotDead):
        redrive(world, msgspec.structs.replace(run, execution_id=elsewhere, state=State.DEAD, claim=None))
        visit.watcher.violated("I1", "what has no record was redriven", run.job_id)


def _end_a_lost_node(visit: Visit, node: Execution, world: World, _: object) -> None:
    """The sets of a run are lost, as after a restore: its nodes do not start, and their ends go nowhere."""
    place = decode_node(node.job_id)
    job_id = NodeJob(place.partition_id, LOST_RUN, place.generation, place.index).job_id
    lost = msgspec.structs.replace(node, job_id=job_id, kept=Kept())
    (objection,) = look.objections(world, [job_id])
    if isinstance(objection, Unavailable):
        raise objection
    visit.watcher.require(objection is look.UNKNOWN, "W1", f"a node of a lost run may start: {objection}")
    visit.watcher.require(place_of_node(world, lost) is None, "W1", "a node of a lost run has a place")
    for why_not in ends.add_ends(world, [lost]).values():
        raise Unavailable(why_not)
    answer, _ = cancel_execution(world, visit.caller(world), node.execution_id)
    visit.watcher.require(answer.verdict is not Verdict.RUNNING, "C2", "a node that has ended is cancelled as it runs")
    again = tell(world, Told("task", "succeeded", execution_id=node.execution_id))
    visit.watcher.require(not again, "I1", "an end is told twice")


def _watch_early(run: Execution, world: World, _: object) -> None:
    """A watch meets an attempt whose generation is not open yet: it starts nothing, as the judges of runs see."""
    if isinstance(world.runs.get([run_of(run.execution_id)])[0], Sets):
        watch(world, watch_at(run, world.clock.now()), msgspec.structs.replace(run, attempt=run.attempt + 1))


def _ask_freely(visit: Visit, world: World, _: object) -> None:
    """Nobody pays for a request without a client, and DynamoDB's throttle of such a request stays its own."""
    reading = Reading()
    reading.begin(world)
    reading.admit(world, Paced.LOOK, [])
    throttled = PartitionThrottled("busy")
    visit.watcher.require(reading.throttled(world, throttled) is throttled, "I9", "somebody pays for nobody's request")
    leaving = msgspec.structs.replace(visit.client, deleting_at=world.clock.now())
    with suppress(ClientDeleting):
        Trial(Intake()).admit(world, leaving, 1)


def _turn_nothing(visit: Visit, world: World, _: object) -> None:
    """A sweep leaves alone an operation that is about to be written, one under way elsewhere, and one that is over."""
    client, now = visit.client, world.clock.now()
    at = [turn(world, client.client_id, "0-nowhere", now), *_turns(world, client)]
    visit.watcher.require(at == [None] * len(at), "I1", f"operations of nothing have a next call: {at}")


def _turns(world: World, client: Client) -> list[int | None]:
    asked = begin.Asked(kind=Kind.DISCARD_DEAD, meant=Meant(to_at=0), by=client.principals[0], max_per_second=1.0)
    made = begin.begin(world, client, asked, None, unnoted)
    now = world.clock.now()
    world.operations.save(made, operations.taken(made, "elsewhere", now + 1_000))
    taken = turn(world, client.client_id, made.operation_id, now)
    begin.stop(world, client, made.operation_id, "nobody", unnoted)
    begin.stop(world, client, made.operation_id, "nobody", unnoted)
    return [taken]
