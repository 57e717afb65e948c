"""A Clockwork in memory with workflows in it, for tests: outcomes by the names of nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.ids import decode_node, is_node, only_execution, run_of
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.releases import Delivery
from clockwork.domain.workflows.definition import Node, WorkflowTarget
from clockwork.domain.workflows.progress import Sets
from clockwork.flows.requests.create import create_jobs
from clockwork.flows.timeline.shards import ensure_shards
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.message import Payload
from clockwork.targets.sqs import SqsTarget
from tests.support.examples import ACME, TARGET, new_job, request

QUEUE = SqsTarget("arn:aws:sqs:us-east-1:111111111111:q")
ONCE = RetryPolicy(max_attempts=1)


def node(*after: str, payload: Any = None, **fields: Any) -> Node:
    """A webhook that is tried once, after these nodes."""
    encoded = None if payload is None else msgspec.json.encode(payload)
    return Node(**{"target": TARGET, "after": after, "payload": encoded, "retry_policy": ONCE, **fields})


class Flowing:
    """A Clockwork in memory with one run of a workflow. `fail` has the nodes whose attempts fail."""

    def __init__(
        self, nodes: Mapping[str, Node] | None = None, fail: str = "", settings: Settings | None = None, **job: Any
    ) -> None:
        self.fail = set(fail.split())
        #: The bodies with which the targets of nodes answer, by name.
        self.bodies: dict[str, bytes] = {}
        #: Called with each attempt and the name of its node, before it is answered.
        self.on_attempt: Callable[[Delivery, str], None] = lambda _, __: None
        settings = settings or Settings.for_local().with_(shards=1)
        self.clockwork = MemoryClockwork(settings, answer=self._answer)
        self.world = self.clockwork.world
        self.clockwork.clients.put(msgspec.structs.replace(ACME, allowed_queue_arns=(QUEUE.queue_arn,)))
        self.names: list[str] = []
        self.started: list[str] = []
        if nodes is not None:
            self.create(nodes, **job)

    def create(self, nodes: Mapping[str, Node], **job: Any) -> None:
        """Create a job that is due soon, whose run the other calls are about."""
        self.names = list(nodes)
        timeout = {"timeout_seconds": job.pop("timeout_seconds", 3_600)}
        target = WorkflowTarget(dict(nodes), **timeout)
        asked = {"target": target, "payload": Payload(b'{"day":"monday"}'), "delay_ms": 2_000, "retry_policy": ONCE}
        (made,) = create_jobs(self.world, request(new_job(**{**asked, **job})), ensure_shards(self.world))
        self.job_id, self.due_at = made.job_id, made.due_at
        self.execution_id = only_execution(made.job_id, made.due_at)

    def _answer(self, delivery: Delivery) -> Outcome:
        now = self.clockwork.clock.now()
        if not is_node(delivery.job_id):
            self.started.append("callback")
            return Outcome(State.SUCCEEDED, now, now, status_code=200)
        name = self.names[decode_node(delivery.job_id).index]
        self.on_attempt(delivery, name)
        self.started.append(name)
        if name in self.fail:
            return Outcome(State.FAILED, now, now, status_code=500, error="HTTP 500")
        return Outcome(State.SUCCEEDED, now, now, status_code=200, answer=self.bodies.get(name))

    def run(self, seconds: float = 60) -> Flowing:
        """Let time pass."""
        self.clockwork.run_until(self.clockwork.clock.at + int(seconds * 1000))
        return self

    @property
    def record(self) -> Execution:
        """The record of the run."""
        found = self.clockwork.executions.find(self.job_id, self.execution_id)
        assert found is not None
        return found

    @property
    def sets(self) -> Sets:
        """The sets of the run."""
        return self.clockwork.runs.stored[run_of(self.execution_id)]

    @property
    def marks(self) -> dict[str, str]:
        """The marks of the nodes by name."""
        return {self.names[index]: mark for index, mark in self.sets.outcomes().items()}

    def records(self) -> dict[str, Execution]:
        """The records of nodes by name, the newest generation alone."""
        found: dict[str, Execution] = {}
        for one in sorted(
            (one for one in self.clockwork.executions.all() if is_node(one.job_id)),
            key=lambda one: decode_node(one.job_id).generation,
        ):
            found[self.names[decode_node(one.job_id).index]] = one
        return found
