"""Runs of workflows among the operations of clients, in seeds of their own: from RUNS_FROM on.

Seeds below that draw what they have always drawn. A run has random nodes, of which some fail at first and some are
refused. Clients cancel runs and redrive them, also from a node.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from clockwork.domain.policies import RetryPolicy
from clockwork.domain.requests.create import CreateRequest, NewJob
from clockwork.domain.workflows.definition import Condition, Node, When, WorkflowTarget
from clockwork.flows.requests import cancel, read, redrive
from clockwork.flows.world import World
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload
from tests.simulation.clients import Step, Visit, create_asked, note_cancel
from tests.simulation.targets import FAILS_ONCE, REJECTING_HOST
from tests.simulation.watcher import Promise

#: The first seed that draws runs.
RUNS_FROM = 1_000_000
#: Of the operations of such a seed so many are about runs.
SHARE = 0.25
GOOD = HttpTarget("https://good.example.com/", timeout_seconds=5)
REFUSING = HttpTarget(REJECTING_HOST, timeout_seconds=5)
RETRIED = RetryPolicy(max_attempts=2, backoff="fixed", initial_seconds=5, jitter="none")
NEVER = (Condition("/run/generation", is_=(0,)),)


def drawn_nodes(rng: random.Random, told: str) -> dict[str, Node]:
    """One to eight nodes of all rules. `told` is in each payload, so that no two runs send the same."""
    nodes: dict[str, Node] = {}
    for index in range(rng.choice((1, 2, 3, 5, 8))):
        name = f"n{index}"
        after = tuple(rng.sample(list(nodes), min(index, rng.choice((0, 1, 1, 2, 3)))))
        when: When = rng.choice(("succeeded",) * 5 + ("failed", "ended")) if after else "succeeded"
        says = (FAILS_ONCE.decode() if rng.random() < 0.2 else "") + f"{name} of {told}"
        nodes[name] = Node(
            target=REFUSING if rng.random() < 0.15 else GOOD,
            after=after,
            when=when,
            conditions=NEVER if after and rng.random() < 0.1 else (),
            optional=rng.random() < 0.15,
            payload=msgspec.json.encode(says),
            retry_policy=RETRIED,
            delay_seconds=rng.choice((0, 0, 0, 10)),
        )
    return nodes


def create_run(visit: Visit) -> None:
    """Creates a job that is a workflow."""
    told, rng = f"{visit.step.seed:x}", visit.rng
    target = WorkflowTarget(drawn_nodes(rng, told), timeout_seconds=rng.choice((300, 900, 3_600)))
    payload = Payload(msgspec.json.encode(told))
    job = NewJob(target=target, payload=payload, delay_ms=rng.randrange(120_000), retry_policy=RETRIED, record="full")
    create_asked(visit, CreateRequest(client=visit.client, jobs=(job,), digest=told))


def cancel_run(visit: Visit) -> None:
    """Cancels a run of the client, wherever it stands."""
    if (promise := _known_run(visit)) is None:
        create_run(visit)
        return
    promise.cancel_asked |= visit.may_act
    answer = visit.call_until_answered(lambda w, _: cancel.cancel_job(w, visit.caller(w), promise.job_id))
    note_cancel(visit, promise, answer)


def redrive_run(visit: Visit) -> None:
    """Redrives a run that need not be dead, perhaps from one of its nodes."""
    if (promise := _known_run(visit)) is None:
        create_run(visit)
        return
    if visit.may_act:
        visit.watcher.redriven.add(visit.client.client_id)
    target = promise.occurrence.target
    assert isinstance(target, WorkflowTarget)
    again = (visit.rng.choice(list(target.nodes)),) if visit.rng.random() < 0.5 else ()

    def flow(world: World, _: Sequence[str]) -> None:
        run = read.get_execution(world, visit.caller(world), promise.execution_id)
        redrive.redrive(world, run, again=again)

    visit.call_until_answered(flow)


def _known_run(visit: Visit) -> Promise | None:
    mine = [
        one
        for one in visit.watcher.promises.values()
        if one.occurrence.client_id == visit.client.client_id and isinstance(one.occurrence.target, WorkflowTarget)
    ]
    return visit.rng.choice(mine[-6:]) if mine else None


RUN_OPERATIONS: dict[str, Callable[[Visit], None]] = {
    "create run": create_run,
    "cancel run": cancel_run,
    "redrive run": redrive_run,
}
RUN_WEIGHTS = {"create run": 5.0, "cancel run": 1.5, "redrive run": 2.0}


def with_runs(script: list[Step], seed: int) -> list[Step]:
    """The script with operations on runs in place of some others, if its seed draws runs."""
    if seed < RUNS_FROM:
        return script
    names, weights, rng = list(RUN_OPERATIONS), list(RUN_WEIGHTS.values()), random.Random(seed)
    return [
        replace(step, operation=rng.choices(names, weights)[0])
        if rng.random() < SHARE and not step.by_stranger
        else step
        for step in script
    ]
