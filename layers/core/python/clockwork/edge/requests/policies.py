"""Policies that a job may have of its own. A job without one gets its client's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from msgspec import Meta, field

from clockwork.domain.policies import LONGEST_MAX_AGE_SECONDS, Completion, RetryPolicy
from clockwork.edge.http.checks import Checks
from clockwork.edge.http.fields import kept
from clockwork.edge.http.forms import Earlier, FieldCheck, Form
from clockwork.targets.pool import PoolTarget
from clockwork.targets.service import ServiceTarget
from clockwork.targets.target import StoredTarget
from clockwork.targets.web.webhooks import GONE

#: An attempt that ends by callback may take so long (s): a week.
LONGEST_COMPLETION_SECONDS = 604_800
#: Clocks differ by up to 3 s, and a claim counts as ended 4 s after its end: shorter ones would tell little.
SHORTEST_HEARTBEAT_SECONDS = 10
StatusCode = Annotated[int, Meta(ge=400, le=599)]
RELEVANCY_WINDOW = Meta(ge=1, le=31_536_000)


def _are_not_final(codes: list[int], _: Checks, __: Earlier) -> list[int]:
    if GONE in codes:
        raise ValueError("holds 410, which says that the target is gone permanently")
    return codes


class RetryPolicyBody(Form):
    """When a failed attempt is tried again."""

    max_attempts: Annotated[int, Meta(ge=1, le=100)] = 5
    backoff: Literal["none", "fixed", "linear", "exponential"] = "exponential"
    initial_seconds: Annotated[float, Meta(ge=1, le=86_400)] = 5
    max_seconds: Annotated[float, Meta(ge=1, le=86_400)] = 3_600
    jitter: Annotated[
        Literal["none", "full"] | None, Meta(description="`full` unless given, but `none` with the backoff `fixed`")
    ] = None
    max_age_seconds: Annotated[float, Meta(ge=0, le=LONGEST_MAX_AGE_SECONDS)] = 86_400
    retry_status_codes: Annotated[
        list[StatusCode],
        Meta(max_length=50, description="answers that are tried again beside 408, 425, 429 and 5xx"),
    ] = field(default_factory=list)

    field_checks: ClassVar[Mapping[str, FieldCheck]] = {"retry_status_codes": _are_not_final}

    def to_policy(self) -> RetryPolicy:
        """The policy as it is kept. A fixed pause is what it says, unless a jitter is asked for."""
        return kept(RetryPolicy, self, jitter=self.jitter or ("none" if self.backoff == "fixed" else "full"))


class CompletionBody(Form):
    """How attempts end that the target only accepts.

    `callback`: the receiver reports under the token of the attempt. `end`: AWS says that what the attempt began has
    ended, as the execution of a state machine; nobody else can report it.
    """

    mode: Literal["callback", "end"]
    heartbeat_seconds: Annotated[
        float,
        Meta(
            ge=SHORTEST_HEARTBEAT_SECONDS,
            le=LONGEST_COMPLETION_SECONDS,
            description="of `callback`: the receiver reports or sends a heartbeat within that, or it is taken for lost",
        ),
    ] = 300
    timeout_seconds: Annotated[
        float,
        Meta(
            ge=SHORTEST_HEARTBEAT_SECONDS,
            le=LONGEST_COMPLETION_SECONDS,
            description="the attempt ends so long after its start, heartbeats or not; of `end`, it is stopped then",
        ),
    ] = 86_400

    def after(self, value: dict[str, Any], checks: Checks) -> None:  # noqa: ARG002 - of all forms
        """Raise ValueError if it would be over before it is missed, or if nobody sends its heartbeats."""
        if self.mode == "end":
            if "heartbeatSeconds" in value:
                raise ValueError("heartbeatSeconds is for the mode callback: AWS sends no heartbeats")
        elif self.heartbeat_seconds > self.timeout_seconds:
            raise ValueError("heartbeatSeconds must be at most timeoutSeconds")

    def to_completion(self) -> Completion:
        """The completion as it is kept."""
        return kept(Completion, self)

    def fault_of(self, asked: Any) -> str | None:
        """Why jobs for the target that was asked for cannot have it, as the end of a sentence; None if they can."""
        target: type[StoredTarget] = asked.kept_as
        if issubclass(target, PoolTarget):
            return "is not for pools: a worker always tells how its attempt ended"
        has_envelope = issubclass(target, ServiceTarget) and target.is_enveloped
        if self.mode == "callback" and has_envelope and asked.envelope is False:
            return "cannot have the mode callback without an envelope, which has the token: leave envelope out"
        if self.mode == "end" and not target.tells_end:
            tag = target.__struct_config__.tag
            return f"cannot have the mode end with {tag}, whose end AWS does not say: use callback, or leave it out"
        return None
