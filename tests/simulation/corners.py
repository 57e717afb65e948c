"""Corner scenes: moments that few seeds come to, each played once per call with a fault there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from clockwork.domain.errors import ExecutionNotFound
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import NamedJobId
from clockwork.domain.lifecycle.parking import BEHIND_CIRCUIT, Parked, parking_of
from clockwork.domain.named import changes
from clockwork.domain.requests.create import NewJob
from clockwork.flows.requests import redrive, reporting
from clockwork.flows.requests.reporting import Reported
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.simulation.administering import hurried, pools_written
from tests.simulation.clients import Visit, ask_again, cancel_one
from tests.simulation.departing import look_at
from tests.simulation.failing_runs import dead_run, redriven_run
from tests.simulation.looked_through import looked_through
from tests.simulation.named_history import CANCELLING
from tests.simulation.operated import left_by_its_client, without_room
from tests.simulation.pulling import PULLING
from tests.simulation.regulated import delete_client, operate, pause_client, resume_client
from tests.simulation.requests import CALLED_BACK, CLIENTS, PACED, REGULATED, KeyedRequest
from tests.simulation.rows import every_row
from tests.simulation.scenes import FAR, NEAR, ONCE, Steps, ask_as, change_key, create_key, job_of, keyed_request
from tests.simulation.stage import BEGAN_AT
from tests.simulation.stores import NEVER_SENDABLE
from tests.simulation.targets import FAILS_ONCE, HEALS, STANDS_STILL, STANDS_STILL_MS, TAKES_LONG

#: The number of failures that opens the circuit of a target.
FAILURES = 6


def shut() -> Steps:
    """The circuit of a target opens; somebody looks at what waits behind it: anonymous, named, and as it was."""
    failing = [job_of(FAILS_ONCE + b"%d" % n, 2_000 + 300 * n, ONCE) for n in range(FAILURES)]
    fails_once = Payload(FAILS_ONCE + b"named")
    return [
        (1_000, _ask("failing", failing)),
        (1_100, create_key("dead", payload=fails_once, retry_policy=ONCE, at=BEGAN_AT + 2_000)),
        (2_000, create_key("behind", at=BEGAN_AT + 14_000)),
        (10_000, _ask("behind it", [job_of(b"behind it", 4_000), job_of(b"callback", 4_500)])),
        (12_000, _redrive_as_it_was),
        (18_000, _look_at_each),
    ]


def ended_waiting() -> Steps:
    """A named job fails, and what waits of it for a retry is ended by a pause, and by a delete."""
    fails_once = Payload(FAILS_ONCE + b"waits")
    steps: list[tuple[int, Callable[[Visit], None]]] = []
    for number, key in enumerate(("paused", "deleted", "paused too")):
        wanted = {"payload": fails_once, "retry_policy": FAR, "at": BEGAN_AT + 3_000 + 500 * number}
        steps.append((1_000 + 50 * number, create_key(key, **wanted)))
    steps.append((20_000, change_key("paused", changes.paused(CANCELLING, cancels=True))))
    steps.append((21_000, change_key("deleted", changes.cancelled(None))))
    steps.append((22_000, change_key("paused too", changes.paused(CANCELLING, cancels=True))))
    return steps


def in_line() -> Steps:
    """Jobs of one ordering key come due under a rate cap: each notes its slot before it waits for it."""
    jobs = [job_of(b"in line %d" % n, 3_000 + n) for n in range(5)]
    ordered = [msgspec.structs.replace(one, ordering_key="a key", sequence=n) for n, one in enumerate(jobs)]
    asked = msgspec.structs.replace(keyed_request("in line", ordered, PACED), outlines=())
    # Until the last step the cap is low.
    return [(1_000, ask_as(PACED, asked)), (60_000, _nothing)]


def short_of_permits() -> Steps:
    """Jobs that wait for their slots find their client's permits held until after these. Then all are free at once."""
    patient = HttpTarget("https://good.example.com/", timeout_seconds=10)
    jobs = [job_of(TAKES_LONG if n == 5 else b"quick %d" % n, 2_000) for n in range(60)]
    asked = keyed_request("short", [msgspec.structs.replace(one, target=patient) for one in jobs], REGULATED)
    return [(1_000, ask_as(REGULATED, asked)), (90_000, _nothing)]


def lost_while_parked() -> Steps:
    """Records go while their rows are parked, as after a restore of their table; each ends DEAD, and calls back.

    A request about a record that goes then is refused.
    """
    jobs = [msgspec.structs.replace(job_of(b"lost %d" % n, 15_000), on_failure=CALLED_BACK) for n in range(2)]
    return [
        (1_000, ask_as(REGULATED, keyed_request("lost", jobs, REGULATED))),
        (5_000, pause_client),
        (30_000, _lose_records),
        (40_000, resume_client),
        (80_000, _ask_of_gone),
    ]


def paused_between() -> Steps:
    """A client is paused between two attempts, and resumed."""
    jobs = [job_of(FAILS_ONCE + b"between %d" % n, 1_000 + n) for n in range(2)]
    asked = keyed_request("between", jobs, REGULATED)
    return [(1_000, ask_as(REGULATED, asked)), (5_000, pause_client), (40_000, resume_client)]


def deleted_behind_circuit() -> Steps:
    """A client is deleted while the circuit of its target is open: whoever gets its id finds it closed."""
    failing = [job_of(FAILS_ONCE + b"%d" % n, 500 + 300 * n, ONCE) for n in range(4)]
    asked = keyed_request("failing", failing, REGULATED)
    return [(1_000, ask_as(REGULATED, asked)), (8_000, pause_client), (12_000, delete_client)]


def directed() -> Steps:
    """While a sweep unparks, an operator says how fast, again and again."""
    jobs = [job_of(b"directed %d" % n, 15_000) for n in range(4)]
    directions = [(40_300 + 400 * n, _direct) for n in range(12)]
    asked = keyed_request("directed", jobs, REGULATED)
    return [(1_000, ask_as(REGULATED, asked)), (5_000, pause_client), (40_000, resume_client), *directions]


def taken_over() -> Steps:
    """A deliverer goes on after its claim has ended. Another one has taken the work over, and sends what follows."""

    def let_overrun(visit: Visit) -> None:
        visit.desk.cloud.overrun_ms = STANDS_STILL_MS

    return [(500, let_overrun), (1_000, _ask("taken over", [job_of(STANDS_STILL, 1_000, NEAR)])), (120_000, _nothing)]


def never_taken() -> Steps:
    """Jobs that no queue can ever take end as dead, and call back. Somebody cancels one of them after that."""
    jobs = [msgspec.structs.replace(job_of(NEVER_SENDABLE, 90_000 + n), on_failure=CALLED_BACK) for n in range(2)]
    return [(1_000, _ask("never taken", jobs)), (100_000, cancel_one)]


def healed() -> Steps:
    """An unrecorded job fails, and its message may come again before its retry: the target is well by then."""
    return [(1_000, _ask("healed", [job_of(HEALS, 1_000, FAR, "none")])), (950_000, _nothing)]


CORNERS: dict[str, Callable[[], Steps]] = {
    scene.__name__: scene
    for scene in (
        *(shut, ended_waiting, in_line, short_of_permits, lost_while_parked, paused_between),
        *(deleted_behind_circuit, directed, pools_written, hurried, taken_over, never_taken),
        *(looked_through, dead_run, redriven_run, healed, without_room, left_by_its_client),
    )
} | PULLING


def _nothing(_: Visit) -> None:
    """Only time passes."""


def _ask(key: str, jobs: list[NewJob]) -> Callable[[Visit], None]:
    return lambda visit: ask_again(visit, KeyedRequest(keyed_request(key, jobs), visit.now))


def _direct(visit: Visit) -> None:
    operate(visit, lambda world: world.regulation.direct_parked(Parked(REGULATED.client_id, rate=5.0, by_hand=True)))


def _lose_records(visit: Visit) -> None:
    executions = visit.desk.cloud.stores.executions
    for record in executions.all():
        if record.state is State.PARKED:
            executions.forget(record)
            executions.ever.forget(record)


def _ask_of_gone(visit: Visit) -> None:
    """Redrives, and reports, what is gone by then: both are refused. Nothing goes while it is still parked."""
    if list(every_row(visit.desk.cloud.stores.timeline, parking_of(REGULATED.client_id))):
        return
    visit.client = REGULATED
    visit.watcher.redriven.add(REGULATED.client_id)
    executions = visit.desk.cloud.stores.executions
    for record in executions.all():
        if record.state is not State.DEAD or record.client_id != REGULATED.client_id:
            continue
        executions.forget(record)
        for asks in (partial(_redrive, record), partial(_report, visit, record)):
            try:
                visit.call_until_answered(asks)
                visit.watcher.violated("I1", "an execution is answered for that is gone", record.job_id)
            except ExecutionNotFound:
                continue


def _redrive(record: Execution, world: World, _: object) -> None:
    redrive.redrive(world, record)


def _report(visit: Visit, record: Execution, world: World, _: object) -> None:
    reporting.report(world, visit.caller(world), record.execution_id, "1.a", Reported(State.SUCCEEDED))


def _redrive_as_it_was(visit: Visit) -> None:
    client_id = CLIENTS[0].client_id
    job_id = NamedJobId(client_id, "dead", 1).job_id
    visit.watcher.redriven.add(client_id)

    def flow(world: World, _: object) -> None:
        for execution in world.executions.list(job_id, 1, None):
            visit.watcher.named.as_it_was.add(execution.execution_id)
            redrive.redrive(world, execution, as_it_was=True)

    visit.call_until_answered(flow)


def _look_at_each(visit: Visit) -> None:
    for record in visit.desk.cloud.stores.executions.all():
        if record.state is State.PARKED and record.reason == BEHIND_CIRCUIT:
            look_at(visit, record.execution_id)
