"""The target of a workflow as requests name it: nodes with targets of their own, each of which is judged as a job's is.

Each node is validated by itself, so that the faults of one do not hide those of another. How hostile bodies fail: a
definition that is too large, or that has too many nodes or edges, is refused before any node is looked at. The edges
cost work of the request, as URLs and schedules do, before they are followed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from msgspec import Meta, field
from msgspec.structs import replace

from clockwork.domain.errors import InvalidRequest
from clockwork.domain.jobs import JobTarget
from clockwork.domain.policies import RetryPolicy
from clockwork.domain.workflows.contexts import references_of
from clockwork.domain.workflows.definition import (
    LARGEST_DEFINITION,
    LONGEST_DELAY_SECONDS,
    LONGEST_RUN_SECONDS,
    MOST_CONDITIONS,
    MOST_EDGES,
    MOST_NODES,
    MOST_VALUES,
    NODE_NAME,
    Condition,
    Node,
    Place,
    When,
    WorkflowTarget,
)
from clockwork.domain.workflows.faults import fault_of_number, faults_of
from clockwork.edge.http.body import canonical
from clockwork.edge.http.checks import Checks, pointer_part
from clockwork.edge.http.fields import kept
from clockwork.edge.http.forms import Earlier, FieldCheck, Form
from clockwork.edge.http.validation import validate
from clockwork.edge.requests.policies import RELEVANCY_WINDOW, CompletionBody, RetryPolicyBody
from clockwork.edge.requests.targets import TargetBody, TargetForm, kept_target
from clockwork.targets.message import Payload

_NAME = f"must match ^{NODE_NAME.pattern}$"
#: The work of a node's form, in the units of a request's work. Following so many edges for one node costs a unit.
_NODE_UNITS = 100
_EDGES_A_UNIT = 3
#: Numbers of conditions are kept in 64 bits.
_LEAST, _MOST = -(2**63), 2**64
_SCALARS = ("string", "integer", "number", "boolean", "null")
Scalars = Annotated[
    list[Any],
    Meta(
        min_length=1,
        max_length=MOST_VALUES,
        extra_json_schema={"items": {"anyOf": [{"type": one} for one in _SCALARS]}},
    ),
]


def _are_scalars(values: list[Any], _: Checks, __: Earlier) -> list[Any]:
    for value in values:
        if isinstance(value, list | dict):
            raise ValueError("must hold texts, numbers, true, false and null alone")
        if isinstance(value, int) and not _LEAST <= value < _MOST:
            raise ValueError("holds a whole number of more than 64 bits")
    return values


class ConditionBody(Form):
    """A condition: what stands at a pointer of the node's context is one of some values, or is none of them."""

    at: Annotated[str, Meta(min_length=1, description="a pointer into the context; it finds null where nothing stands")]
    is_: Annotated[Scalars | None, Meta(description="either this or isNot")] = field(default=None, name="is")
    is_not: Scalars | None = None

    field_checks: ClassVar[Mapping[str, FieldCheck]] = {"is_": _are_scalars, "is_not": _are_scalars}

    def after(self, value: dict[str, Any], checks: Checks) -> None:  # noqa: ARG002 - of all forms
        """Raise ValueError unless it has just one list of values."""
        if (self.is_ is None) == (self.is_not is None):
            raise ValueError("must have just one of is and isNot")


class PlaceBody(Form, kw_only=True):
    """The place of a node in its graph."""

    parents: Annotated[
        list[Annotated[str, Meta(pattern=rf"^{NODE_NAME.pattern}\Z")]],
        Meta(max_length=MOST_NODES, description="its parents: it is decided once all of them have ended"),
    ] = field(default_factory=list, name="after")
    when: Annotated[
        When,
        Meta(description="succeeded: no parent failed, and one succeeded; failed: one failed; ended: in any case"),
    ] = "succeeded"
    conditions: Annotated[
        list[ConditionBody], Meta(max_length=MOST_CONDITIONS, description="the node is skipped unless all hold")
    ] = field(default_factory=list, name="if")
    payload: Annotated[
        Any, Meta(description='JSON in which {"$from": pointer} stands for a value; the whole context unless given')
    ] = None

    def after(self, value: dict[str, Any], checks: Checks) -> None:  # noqa: ARG002 - of all forms
        """Encode the payload, once for all that follows. Null is a payload, and left out is none."""
        self.payload = _encoded(value["payload"]) if "payload" in value else None

    def place(self) -> dict[str, Any]:
        """The fields of a place as it is kept."""
        conditions = tuple(kept(Condition, one) for one in self.conditions)
        return {
            "after": tuple(self.parents),
            "when": self.when,
            "conditions": conditions,
            "payload": self.payload,
        }


class NodeBody(PlaceBody, kw_only=True):
    """A node of a workflow: a step with a target of its own. It is an execution of its own once it starts."""

    target: TargetBody
    optional: Annotated[bool, Meta(description="its failure counts as a skip")] = False
    delay_seconds: Annotated[
        float, Meta(ge=0, le=LONGEST_DELAY_SECONDS, description="it starts so long after its parents have ended")
    ] = 0
    retry_policy: Annotated[RetryPolicyBody | None, Meta(description="the client's unless given")] = None
    relevancy_window_seconds: (
        Annotated[
            float,
            RELEVANCY_WINDOW,
            Meta(description="undelivered so long after it could start it ends EXPIRED; never, unless given"),
        ]
        | None
    ) = None
    completion: Annotated[
        CompletionBody | None,
        Meta(description="without it the target's answer ends an attempt; with it, the receiver or AWS does"),
    ] = None

    def after(self, value: dict[str, Any], checks: Checks) -> None:
        """Report, too, a completion that workers cannot have, and a payload that the target never takes."""
        super().after(value, checks)
        if self.completion is not None and (fault := self.completion.fault_of(self.target)) is not None:
            checks.report("/completion", fault)
        if self.payload is None or next(references_of(value["payload"]), None) is not None:
            return
        sent = value["payload"]
        payload = Payload(sent.encode(), is_text=True) if isinstance(sent, str) else Payload(self.payload)
        if (fault := self.target.kept_as.fault_of_payload(payload, self.target)) is not None:
            checks.report("/payload", fault)

    def to_node(self, checks: Checks) -> Node:
        """The node as it is kept: its retry policy is the client's unless it has one."""
        clients = None if checks.client is None else checks.client.retry_policy
        return kept(
            Node,
            self,
            target=kept_target(self.target, checks),
            retry_policy=self.retry_policy.to_policy() if self.retry_policy else clients or RetryPolicy(),
            completion=self.completion and self.completion.to_completion(),
            **self.place(),
        )


def _taken(nodes: dict[str, Any], checks: Checks, _: Earlier) -> dict[str, Any]:
    """The nodes as forms. Reports the faults of each, then those of all of them together."""
    if (fault := fault_of_number(len(nodes))) is not None:
        raise ValueError(fault)
    checks.spend(_NODE_UNITS * len(nodes), "/target/nodes")
    taken: dict[str, Any] = {}
    places: dict[str, Place] = {}
    for name, sent in nodes.items():
        if not NODE_NAME.fullmatch(name):
            checks.report(f"/target/nodes{pointer_part(name)}", _NAME)
            continue
        node = taken[name] = _node_of(name, sent, checks)
        place = _place_of(sent, checks) if node is None else node
        if place is not None:
            places[name] = Place(**place.place())
        if checks.work.is_over:
            return taken
    if len(places) == len(nodes):
        edges = sum(len(one.after) for one in places.values())
        checks.spend(len(nodes) * min(edges, MOST_EDGES) // _EDGES_A_UNIT, "/target/nodes")
        for pointer, fault in faults_of(places):
            checks.report(f"/target{pointer}", fault)
    return taken


def _node_of(name: str, sent: Any, checks: Checks) -> NodeBody | None:
    try:
        return validate(NodeBody, sent, replace(checks, problems=[]))
    except InvalidRequest as invalid:
        for fault in invalid.problems:
            checks.report(f"/target/nodes{pointer_part(name)}{fault.pointer}", fault.detail)
        return None


def _place_of(sent: Any, checks: Checks) -> PlaceBody | None:
    """The place of a node with faults elsewhere; None if it has faults itself, which were told."""
    trial = replace(checks, problems=[])
    known = PlaceBody.__struct_encode_fields__
    given = {name: part for name, part in sent.items() if name in known} if isinstance(sent, dict) else sent
    try:
        place = PlaceBody.taken(given, trial)
    except ValueError:
        return None
    return None if trial.problems else place


class WorkflowTargetBody(TargetForm, tag="workflow"):
    """Steps that wait for each other, by their names. A job with such a target has a run for each of its fires."""

    nodes: Annotated[dict[str, Any], Meta(description=f"1-{MOST_NODES} nodes, with {MOST_EDGES} edges at most")]
    timeout_seconds: Annotated[
        float, Meta(ge=1, le=LONGEST_RUN_SECONDS, description="a run ends so long after its start at the latest")
    ] = 86_400

    kept_as = WorkflowTarget
    field_checks: ClassVar[Mapping[str, FieldCheck]] = {"nodes": _taken}

    @classmethod
    def before(cls, value: dict[str, Any], checks: Checks) -> None:  # noqa: ARG003 - of all forms
        """Raise ValueError for a definition that is too large, before any node is looked at."""
        if (size := len(canonical(value))) > LARGEST_DEFINITION:
            raise ValueError(f"has {size:,} bytes encoded, at most {LARGEST_DEFINITION:,} are taken")

    def to_target(self, checks: Checks) -> WorkflowTarget:
        """The workflow as it is kept."""
        nodes = {name: node.to_node(checks) for name, node in self.nodes.items()}
        return WorkflowTarget(nodes, self.timeout_seconds)


def nodes_in(body: TargetForm) -> int:
    """How many executions follow from one occurrence of a job with this target, beside its own."""
    return len(body.nodes) if isinstance(body, WorkflowTargetBody) else 0


def kept_job_target(body: TargetForm, checks: Checks, ordering_key: str | None) -> JobTarget:
    """The target of a job as it is kept. A target that keeps an order by itself gets a key of its ordering key."""
    return body.to_target(checks) if isinstance(body, WorkflowTargetBody) else kept_target(body, checks, ordering_key)


def _encoded(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
