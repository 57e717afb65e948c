"""The definition of a workflow: a target whose nodes are steps that wait for each other.

A *run* is an execution of a job with such a target. A *node* is a step. Each node that starts is an execution of its
own. The place of a node among `nodes` is its *index*: ids, sets and graphs name a node by that.
"""

from __future__ import annotations

import re
from typing import Any, ClassVar, Literal

import msgspec

from clockwork.domain.policies import Completion, RetryPolicy
from clockwork.targets.message import Payload
from clockwork.targets.registry import Target
from clockwork.targets.target import StoredTarget

#: When a node runs, given how its parents have ended: none failed and one succeeded, one failed, or in any case.
When = Literal["succeeded", "failed", "ended"]
#: A value with which a condition compares.
Scalar = str | int | float | bool | None

#: The name of a node. It stands in pointers, so it has neither a slash nor a tilde.
NODE_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")
LONGEST_NAME = 40
MOST_NODES = 100
MOST_EDGES = 400
#: The bytes of a definition as JSON, and of a run's input.
LARGEST_DEFINITION = 64 * 1024
LARGEST_INPUT = 32 * 1024
#: The bytes of a node's payload once its references are filled in.
LARGEST_FILLED = 256 * 1024
#: A node's conditions, and the values of each.
MOST_CONDITIONS = 5
MOST_VALUES = 20
#: The longest wait (s) of a node behind its parents, and the longest life of a run: 30 and 31 days.
LONGEST_DELAY_SECONDS = 2_592_000
LONGEST_RUN_SECONDS = 2_678_400


class Condition(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A condition of `if`: what the pointer `at` finds in the context is one of the values, or is none of them.

    Only one of `is_` and `is_not` is given. A pointer that finds nothing counts as one that finds null.
    """

    at: str
    is_: tuple[Scalar, ...] | None = msgspec.field(default=None, name="is")
    is_not: tuple[Scalar, ...] | None = None


class Place(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The place of a node in its graph: its parents, when it runs, and to what its payload refers.

    `payload`: JSON in which each object `{"$from": pointer}` stands for a value of the context; None: all of the
    context.
    """

    after: tuple[str, ...] = ()
    when: When = "succeeded"
    conditions: tuple[Condition, ...] = msgspec.field(default=(), name="if")
    payload: bytes | None = None


class Node(Place, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A step. It is decided once all of its parents (`after`) have ended, and never earlier.

    `optional`: its failure counts as a skip. The node starts `delay_seconds` after its parents have ended.
    """

    target: Target
    optional: bool = False
    delay_seconds: float = 0
    retry_policy: RetryPolicy = RetryPolicy()
    relevancy_window_seconds: float | None = None
    completion: Completion | None = None


class WorkflowTarget(StoredTarget, frozen=True, tag="workflow"):
    """Steps that wait for each other, by their names. A run ends `timeout_seconds` after its start at the latest.

    `again`: of a redriven run, the names of nodes that start again although they have succeeded.
    """

    nodes: dict[str, Node] = msgspec.field(default_factory=dict)
    timeout_seconds: float = 86_400
    again: tuple[str, ...] = ()

    shown_as: ClassVar[str] = "Steps that wait for each other."

    @classmethod
    def fault_of_payload(cls, payload: Payload, asked: Any) -> str | None:  # noqa: ARG003 - by its size alone
        """The input of a run is part of the record of it, beside the definition."""
        if len(payload.body) <= LARGEST_INPUT:
            return None
        return f"has {len(payload.body):,} bytes encoded, at most {LARGEST_INPUT:,} are taken for a workflow"

    def hint(self) -> WorkflowTarget:
        """No nodes: the row of its job has them."""
        return WorkflowTarget()


def nodes_of(target: StoredTarget) -> int:
    """How many executions follow from one occurrence of a job, beside its own."""
    return len(target.nodes) if isinstance(target, WorkflowTarget) else 0


def targets_in(target: Target | WorkflowTarget) -> tuple[Target, ...]:
    """The targets to which a job delivers: its own, or those of its nodes."""
    return tuple(node.target for node in target.nodes.values()) if isinstance(target, WorkflowTarget) else (target,)
