"""The target, payload and retry policy of a job, as answers show them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from clockwork.domain.jobs import Occurrence
from clockwork.domain.named_jobs import Definition
from clockwork.domain.policies import Precision, RecordLevel, RetryPolicy
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


def _shown(field: AskedField) -> Any:
    if get_origin(field.kind) is Literal:
        return Annotated[str, one_of(get_args(field.kind))]
    return field.kind | None if field.default is None else field.kind


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

    mode: Annotated[str, one_of(["callback"])]
    heartbeat_seconds: float
    timeout_seconds: float


def shown_target(kept: StoredTarget) -> ShownTarget:
    """A target as its request named it."""
    return _SHOWN[str(kept.__struct_config__.tag)].like(kept)


def shown_payload(kept: Payload) -> Any:
    """A payload as its request gave it."""
    return kept.body.decode() if kept.is_text else json.loads(kept.body)


def shown_policy(kept: RetryPolicy | None) -> ShownRetryPolicy | None:
    """A retry policy with all its defaults, if there is one."""
    return None if kept is None else ShownRetryPolicy.like(kept)


def delivery(kept: Occurrence | Definition) -> dict[str, Any]:
    """The fields about a job's deliveries that answers show in another form than they are kept in."""
    return {
        "target": shown_target(kept.target),
        "retry_policy": shown_policy(kept.retry_policy),
        "sequence": None if kept.ordering_key is None else kept.sequence,
        "completion": None if kept.completion is None else ShownCompletion.like(kept.completion),
        "on_failure": None if kept.on_failure is None else shown_target(kept.on_failure),
    }
