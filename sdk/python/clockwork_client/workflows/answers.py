"""Answers of the API about workflows: their target, their runs, and the nodes of a run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from clockwork_client.answers import Answer, Target
from clockwork_client.workflows.graph import behind


class WorkflowTarget(Target):
    """Steps that wait for each other, by their names, without their payloads. `cw.workflow()` makes one to send."""

    nodes: Mapping[str, Any]
    timeout_seconds: float


class RunCounts(Answer):
    """How many nodes a run has, by their outcomes. `stopped`: why no further node starts."""

    generation: int
    nodes: int
    succeeded: int
    failed: int
    skipped: int
    open: int
    stopped: str | None


class NodeOfRun(Answer):
    """The node that an execution is: its name, the executionId of its run, and its generation."""

    name: str
    run: str
    generation: int


class Node(Answer):
    """A node of a run. `because` is the parent that keeps it from running.

    Without `execution_id` it has not started.
    """

    name: str
    after: tuple[str, ...]
    when: str
    state: str
    generation: int
    because: str | None
    execution_id: str | None
    attempt: int | None
    started_at: datetime | None
    ended_at: datetime | None
    last_error: str | None
    has_result: bool | None


class RunNodes(Answer):
    """The nodes of a run, in the order of its workflow."""

    generation: int
    items: tuple[Node, ...]

    def __getitem__(self, name: str) -> Node:
        """The node of this name. Raises KeyError."""
        found = next((one for one in self.items if one.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def again(self, *named: str) -> list[str]:
        """The nodes that a redrive from these starts again: also those that failed, and all that come after."""
        roots = [one.name for one in self.items if one.name in named or one.state not in ("SUCCEEDED", "SKIPPED")]
        return behind({one.name: one.after for one in self.items}, roots)

    @property
    def states(self) -> dict[str, str]:
        """The state of each node by its name."""
        return {one.name: one.state for one in self.items}
