"""A workflow of a program: steps that wait for each other, as one target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from clockwork_client import objects
from clockwork_client.answers import Target
from clockwork_client.objects import Duration
from clockwork_client.places import target_at
from clockwork_client.reports import Completion
from clockwork_client.results import RetryPolicy
from clockwork_client.workflows.check import check
from clockwork_client.workflows.graph import ancestors_of
from clockwork_client.workflows.mermaid import Drawn, mermaid
from clockwork_client.workflows.references import (
    Condition,
    Reference,
    escaped,
    in_json,
    moved,
    moved_pointer,
    references_in,
)

When = Literal["succeeded", "failed", "ended"]
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}\Z")


class Step:
    """A step of a workflow. Its `result`, `state`, `error` and `execution_id` can be given to later steps."""

    def __init__(self, workflow: Workflow, name: str) -> None:
        self.workflow = workflow
        self.name = name

    @property
    def result(self) -> Reference:
        """The result: of a report, or the JSON that an HTTP target answered. `step.result["rows"]` is a part of it."""
        return self._part("result")

    @property
    def state(self) -> Reference:
        """SUCCEEDED, DEAD, EXPIRED, CANCELLED, SKIPPED or UNREACHED."""
        return self._part("state")

    @property
    def error(self) -> Reference:
        """The reason of a step that did not succeed."""
        return self._part("error")

    @property
    def execution_id(self) -> Reference:
        """The execution, for a receiver that reads a large result by itself."""
        return self._part("executionId")

    @property
    def raw(self) -> Mapping[str, Any]:
        """The step as the API takes it."""
        return self.workflow.nodes[self.name]

    def _part(self, name: str) -> Reference:
        return Reference(f"/nodes/{escaped(self.name)}/{name}", self.name, self.workflow)

    def __repr__(self) -> str:
        return f"Step({self.name!r}, after={self.raw.get('after', [])!r})"


Steps = Step | str | Iterable[Step | str]


class Workflow:
    """Steps that wait for each other: a target for `schedule`, `create` and `jobs.replace`.

    Each fire of the job is a run. `input` refers to the job's payload. `run` refers to the run's `executionId`, `dueAt`
    and `generation`. A run ends `timeout` (s, or a timedelta; a day) after its start at the latest.
    """

    def __init__(self, *, timeout: Duration | None = None) -> None:
        self.timeout = timeout
        self.nodes: dict[str, dict[str, Any]] = {}
        self.input = Reference("/input")
        self.run = Reference("/run")

    def step(
        self,
        name: str,
        target: Target | str,
        *,
        payload: Any = None,
        after: Steps = (),
        when: When | None = None,
        if_: Condition | Iterable[Condition] = (),
        optional: bool | None = None,
        delay: Duration | None = None,
        retry: RetryPolicy | None = None,
        completion: Completion | None = None,
        relevancy_window_seconds: Duration | None = None,
    ) -> Step:
        """Add a step: `wf.step("check", "https://risk.example/check", payload={"rows": fetch.result["rows"]})`.

        It is decided once all steps of `after` have ended. `when`: it runs if none of them failed and one succeeded
        (`succeeded`, the default), if one failed, or in any case (`ended`). A reference in `payload` or `if_` to a step
        that does not come before makes that step one of `after`. Without a payload the target gets the input and what
        all steps before have ended with. A failure of an `optional` step counts as a skip. `delay` is the time behind
        the steps of `after`.

        Raises ValueError for a name that is taken or is none, or for a step of another workflow; TypeError for a value
        of a wrong type.
        """
        if not isinstance(name, str) or _NAME.match(name) is None:
            raise ValueError(f"{name!r} is no name of a step: a-z first, then a-z, 0-9, _ or -, at most 40 characters")
        if name in self.nodes:
            raise ValueError(f"the workflow has a step {name!r} already")
        conditions = self._conditions(if_)
        referred = [*references_in(payload), *(one.reference for one in conditions)]
        options = objects.object_of({"relevancy_window_seconds": relevancy_window_seconds, "retry": retry})
        options |= objects.fields(when=when, optional=optional, delay_seconds=delay, completion=completion)
        if payload is not None:
            options["payload"] = in_json(payload)
        if conditions:
            options["if"] = [one.raw for one in conditions]
        if edges := self._edges(self._names(after), referred):
            options["after"] = edges
        self.nodes[name] = {"target": target_at(target).raw, **options}
        return Step(self, name)

    def include(self, other: Workflow, *, prefix: str = "", after: Steps = ()) -> dict[str, Step]:
        """Add all steps of another workflow, with a prefix before their names. They get this run's input.

        Its first steps wait for `after`. Returns the new steps by the names that they have in the other workflow.
        Raises ValueError for a name that is taken or is none.
        """
        first, names = self._names(after), {name: prefix + name for name in other.nodes}
        wrong = next((one for one in names.values() if one in self.nodes or _NAME.match(one) is None), None)
        if wrong is not None:
            raise ValueError(f"{wrong!r} is taken, or is no name of a step")
        for name, node in list(other.nodes.items()):
            made = moved_node(node, names)
            if parents := made.get("after") or first:
                made["after"] = list(parents)
            self.nodes[names[name]] = made
        return {name: Step(self, new) for name, new in names.items()}

    @property
    def raw(self) -> dict[str, Any]:
        """The target as the API takes it, with the steps that there are now."""
        return {"type": "workflow", "nodes": dict(self.nodes), **objects.fields(timeout_seconds=self.timeout)}

    def check(self) -> None:
        """Raise Invalid with the faults that the API would find, without asking it.

        Only the API judges the addresses of targets, and whether the client's lists have them.
        """
        check(self.raw)

    def mermaid(self) -> str:
        """The steps as a flowchart of mermaid."""
        return mermaid(drawn_of(self.raw))

    def __getitem__(self, name: str) -> Step:
        if name not in self.nodes:
            raise KeyError(name)
        return Step(self, name)

    def __repr__(self) -> str:
        return f"Workflow({', '.join(self.nodes)})"

    def _names(self, after: Steps) -> list[str]:
        steps = [after] if isinstance(after, Step | str) else list(after)
        for one in steps:
            if isinstance(one, Step) and one.workflow is not self:
                raise ValueError(f"the step {one.name!r} is another workflow's: include() adds it")
        return [one.name if isinstance(one, Step) else one for one in steps]

    def _conditions(self, given: Condition | Iterable[Condition]) -> list[Condition]:
        found = [given] if isinstance(given, Condition) else list(given)
        if wrong := [one for one in found if not isinstance(one, Condition)]:
            raise TypeError(f"if_ takes conditions, such as step.result['risk'].is_('high'), and not {wrong[0]!r}")
        return found

    def _edges(self, given: list[str], referred: Iterable[Reference]) -> list[str]:
        """The steps of `after`, with those that are referred to unless they come before anyway.

        An edge to a step that comes before anyway would change the rule: a child with two parents runs although one of
        them was skipped.
        """
        named = []
        for one in referred:
            if one.owner is not None and one.owner is not self:
                raise ValueError(f"{one!r} is another workflow's: include() adds its steps")
            if one.node is not None and one.node not in named:
                named.append(one.node)
        after = {name: node.get("after", []) for name, node in self.nodes.items()}
        all_named = [*given, *named]
        before = set[str]().union(*(ancestors_of(after, one) for one in all_named))
        return [*given, *(one for one in named if one not in before and one not in given)]


def drawn_of(target: Mapping[str, Any]) -> list[Drawn]:
    """The steps of a workflow without faults, for a picture."""
    return [
        Drawn(name, tuple(node.get("after", ())), node.get("when", "succeeded"), None)
        for name, node in target["nodes"].items()
    ]


def moved_node(node: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """A step whose parents and references have their new names."""
    found = dict(node)
    if "after" in node:
        found["after"] = [names.get(one, one) for one in node["after"]]
    if "payload" in node:
        found["payload"] = moved(node["payload"], names)
    if "if" in node:
        found["if"] = [{**one, "at": moved_pointer(one["at"], names)} for one in node["if"]]
    return found
