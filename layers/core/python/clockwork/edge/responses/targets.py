"""The target, payload and retry policy of a job, as answers show them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, Union, get_args, get_origin

import msgspec
from msgspec import field

from clockwork.domain.jobs import JobTarget, Occurrence
from clockwork.domain.named_jobs import Definition
from clockwork.domain.policies import Completion, Precision, RecordLevel, RetryPolicy
from clockwork.domain.workflows.definition import Node, When, WorkflowTarget
from clockwork.edge.http.answer import AnswerBody, one_of
from clockwork.targets.message import Payload
from clockwork.targets.registry import TARGETS
from clockwork.targets.target import AskedField, StoredTarget, fields_of

Record = Annotated[str, one_of(get_args(RecordLevel))]
ShownPrecision = Annotated[str, one_of(get_args(Precision))]


def _shape_of(target: type[StoredTarget]) -> type[AnswerBody]:
    """The fields that requests name. A field without a default, or with one that says something, is always shown."""
    fields = fields_of(target)
    shape: Any = msgspec.defstruct(
        f"Shown{target.__name__}",
        [(one.name, _shown(one), one.default if one.may_be_left_out else msgspec.NODEFAULT) for one in fields],
        bases=(AnswerBody,),
        tag=target.__struct_config__.tag,
        tag_field="type",
        namespace={"__doc__": target.shown_as},
        module=__name__,
        kw_only=True,
    )
    return shape  # type: ignore[no-any-return]


def _shown(asked: AskedField) -> Any:
    if get_origin(asked.kind) is Literal:
        return Annotated[str, one_of(get_args(asked.kind))]
    return asked.kind | None if asked.default is None else asked.kind


_SHOWN = {str(target.__struct_config__.tag): _shape_of(target) for target in TARGETS}
if TYPE_CHECKING:
    ShownTarget = AnswerBody
else:
    ShownTarget = Union[tuple(_SHOWN.values())]  # noqa: UP007 - of as many as there are


class ShownRetryPolicy(AnswerBody):
    """When a failed attempt is tried again."""

    max_attempts: int
    backoff: str
    initial_seconds: float
    max_seconds: float
    jitter: str
    max_age_seconds: float
    retry_status_codes: tuple[int, ...]


class ShownCompletion(AnswerBody, kw_only=True):
    """How attempts end that the target only accepts."""

    mode: Annotated[str, one_of(["callback", "end"])]
    heartbeat_seconds: float | None = None
    timeout_seconds: float


class ShownCondition(AnswerBody):
    """A condition of a node."""

    at: str
    is_: list[Any] | None = field(default=None, name="is")
    is_not: list[Any] | None = None


class ShownNode(AnswerBody, kw_only=True):
    """A node of a workflow. Its payload is not shown: it may refer to what the readers of a list need not see."""

    target: ShownTarget
    after: tuple[str, ...]
    when: Annotated[str, one_of(get_args(When))]
    conditions: tuple[ShownCondition, ...] = field(default=(), name="if")
    optional: bool = False
    delay_seconds: float = 0
    retry_policy: ShownRetryPolicy
    relevancy_window_seconds: float | None = None
    completion: ShownCompletion | None = None

    @classmethod
    def of(cls, kept: Node) -> Self:
        """The node as its request named it."""
        return cls.like(
            kept,
            target=shown_target(kept.target),
            conditions=tuple(ShownCondition.like(one) for one in kept.conditions),
            retry_policy=ShownRetryPolicy.like(kept.retry_policy),
            completion=shown_completion(kept.completion),
        )


class ShownWorkflowTarget(AnswerBody, tag="workflow", tag_field="type"):
    """Steps that wait for each other, by their names."""

    nodes: dict[str, ShownNode]
    timeout_seconds: float


ShownJobTarget = ShownTarget | ShownWorkflowTarget


def shown_target(kept: StoredTarget) -> ShownTarget:
    """A target as its request named it."""
    return _SHOWN[str(kept.__struct_config__.tag)].like(kept)


def shown_job_target(kept: JobTarget) -> ShownJobTarget:
    """The target of a job as its request named it; of a workflow without the payloads of nodes."""
    if isinstance(kept, WorkflowTarget):
        return ShownWorkflowTarget(
            {name: ShownNode.of(node) for name, node in kept.nodes.items()}, kept.timeout_seconds
        )
    return shown_target(kept)


def shown_completion(kept: Completion | None) -> ShownCompletion | None:
    """A completion, if there is one."""
    if kept is not None and kept.mode == "end":
        return ShownCompletion(mode=kept.mode, timeout_seconds=kept.timeout_seconds)
    return None if kept is None else ShownCompletion.like(kept)


def shown_payload(kept: Payload) -> Any:
    """A payload as its request gave it."""
    return kept.body.decode() if kept.is_text else json.loads(kept.body)


def shown_policy(kept: RetryPolicy | None) -> ShownRetryPolicy | None:
    """A retry policy with all its defaults, if there is one."""
    return None if kept is None else ShownRetryPolicy.like(kept)


def delivery(kept: Occurrence | Definition) -> dict[str, Any]:
    """The fields about a job's deliveries that answers show in another form than they are kept in."""
    return {
        "target": shown_job_target(kept.target),
        "retry_policy": shown_policy(kept.retry_policy),
        "sequence": None if kept.ordering_key is None else kept.sequence,
        "completion": shown_completion(kept.completion),
        "on_failure": None if kept.on_failure is None else shown_target(kept.on_failure),
    }
