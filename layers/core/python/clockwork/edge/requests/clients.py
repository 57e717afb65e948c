"""The body of a request to create or replace a client."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from clockwork.domain.clients import Client, principal_of
from clockwork.domain.policies import Precision
from clockwork.domain.pools.pool import POOL_NAME
from clockwork.edge.http.fields import kept
from clockwork.edge.http.models import AsForm, EdgeModel, bounded, checks_of
from clockwork.edge.requests.own_resources import not_own
from clockwork.edge.requests.policies import RELEVANCY_WINDOW, RetryPolicyBody
from clockwork.edge.requests.schedules import LONGEST_YEAR_SECONDS
from clockwork.targets.registry import LISTED_ARNS, LISTED_TYPES
from clockwork.targets.web.urls import cost_of, parse, why_not_public, why_own

_SESSION = "is a session of a role, and its name changes with each session: list the role itself, "


def _no_session(principal: object) -> object:
    if isinstance(principal, str) and principal_of(principal) != principal:
        raise ValueError(_SESSION + principal_of(principal))
    return principal


def _not_own(arn: str, info: ValidationInfo) -> str:
    return not_own(arn, checks_of(info))


#: The ARN of an IAM user has its path. STS drops the path of a role, so a role is named without one.
Principal = Annotated[
    str,
    BeforeValidator(_no_session),
    Field(
        max_length=600,
        pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:(root|user/[A-Za-z0-9_+=,.@/-]+|role/[A-Za-z0-9_+=,.@-]+)$",
    ),
]
#: A change replaces all principals in one transaction of at most 100 writes, one of which writes the client itself.
MOST_PRINCIPALS = 49
QueueArn = Annotated[
    str,
    Field(pattern=r"^arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,75}(\.fifo)?$"),
    AfterValidator(_not_own),
]
Topics = Annotated[str, Field(max_length=249, pattern=r"^[A-Za-z0-9._-]*[A-Za-z0-9._*-]$"), AfterValidator(_not_own)]


def _secret_of_stack(name: str, info: ValidationInfo) -> str:
    prefix = checks_of(info).settings.secret_prefix
    if not name.startswith((prefix, f"ssm:/{prefix}")):
        raise ValueError(f"must begin with {prefix} or ssm:/{prefix}")
    return name


#: The name of the deployment stands before the first slash.
SecretName = Annotated[
    str,
    Field(
        pattern=r"^([a-z][a-z0-9-]{0,39}/[A-Za-z0-9/_+=.@-]{1,200}|ssm:/[a-z][a-z0-9-]{0,39}/[A-Za-z0-9/_.-]{1,200})$"
    ),
    AfterValidator(_secret_of_stack),
]


def _host_and_port(target: str, info: ValidationInfo) -> str:
    # For development alone: elsewhere every port of a host is more than anybody means, and on loopback it would reach
    # the runtime of the Lambda itself.
    settings = checks_of(info).settings
    checks_of(info).spend(cost_of(f"http://{target}"), "/allowedPrivateTargets")
    any_port = target.endswith(":*") and settings.stage == "local"
    endpoint = parse(f"http://{target[:-1]}1" if any_port else f"http://{target}")
    if target.lower() != (endpoint.any_port if any_port else endpoint.authority):
        raise ValueError("must be host:port and no more")
    if settings.stage != "local" and (reason := why_own(endpoint, settings.runtime_api)) is not None:
        raise ValueError(f"cannot be a target: {reason}")
    if settings.stage != "local" and not settings.has_network and (reason := why_not_public(endpoint)) is not None:
        raise ValueError(f"cannot be reached: {reason}, and the deployment is in no network (its option `network`)")
    return target


def _host(host: str) -> str:
    parse(f"https://{host.removeprefix('*.')}")
    return host


PrivateTarget = Annotated[str, Field(max_length=300), AfterValidator(_host_and_port)]
#: In lower case, as hosts of URLs are compared. `urls.parse` decides whether the text is a host.
TargetHost = Annotated[str, Field(max_length=255, pattern=r"^(\*\.)?[a-z0-9_.:\[\]-]+$"), AfterValidator(_host)]
TargetArn = Annotated[
    str,
    Field(max_length=600, pattern=rf"^arn:aws[a-z-]*:({'|'.join(LISTED_ARNS)}):[A-Za-z0-9_+=,.@:/-]+\*?$"),
    AfterValidator(_not_own),
]

PoolName = Annotated[str, Field(pattern=f"^{POOL_NAME.pattern}$")]


class ClientBody(EdgeModel):
    """PUT /v1/clients/{clientId}: replaces the client whole."""

    principals: list[Principal] = Field([], max_length=MOST_PRINCIPALS, description="ARNs of IAM users and roles")
    record: Literal["none", "full"] = "full"
    signing_secrets: list[SecretName] = Field(
        [],
        max_length=2,
        description="names, never secrets: of Secrets Manager, or `ssm:` and that of a SecureString of Parameter Store",
    )
    allowed_queue_arns: list[QueueArn] = Field([], max_length=100)
    allowed_topics: list[Topics] = Field([], max_length=100, description="Kafka topics; a last * stands for any rest")
    allowed_private_targets: list[PrivateTarget] = Field([], max_length=100, description="host:port")
    allowed_target_hosts: list[TargetHost] = Field(
        [], max_length=100, description="if not empty, the only hosts of webhooks; `*.example.com` is all below it"
    )
    allowed_target_arns: list[TargetArn] = Field(
        [], max_length=100, description=f"of {LISTED_TYPES} targets and their roles; `*` may end one"
    )
    allowed_pools: list[PoolName] = Field([], max_length=100, description="pools whose workers may get its jobs")
    retry_policy: Annotated[RetryPolicyBody, AsForm()] | None = Field(
        None, description="of jobs that have none of their own"
    )
    relevancy_window_seconds: Annotated[float, bounded(RELEVANCY_WINDOW)] | None = Field(
        None, description="of jobs that have none of their own"
    )
    precision: Precision | None = Field(
        None, description="of jobs that have none of their own; millisecond unless given"
    )
    max_rate_per_second: float | None = Field(None, ge=0.01, le=100_000, description="deliveries, retries included")
    max_concurrency: int | None = Field(None, ge=1, le=100_000, description="deliveries under way at once")
    creates_per_second: float | None = Field(
        None, ge=0.01, le=1_000_000, description="jobs accepted a second, runs, redrives and backfilled fires included"
    )
    jobs_per_day: int | None = Field(None, ge=1, le=1_000_000_000_000, description="the same per UTC day")
    min_interval_seconds: float = Field(
        1, ge=1, le=LONGEST_YEAR_SECONDS, description="between fires of a recurring job"
    )
    retention_days: int | None = Field(None, ge=1, le=365, description="of records, once their execution has ended")
    dead_letter_queue_arn: QueueArn | None = Field(None, description="is told of every execution that becomes DEAD")
    runs_index: bool = Field(
        False, description="lists its executions as they end, of jobs without a key as well; each costs one write more"
    )

    @field_validator("dead_letter_queue_arn")
    @classmethod
    def _is_allowed(cls, arn: str | None, info: ValidationInfo) -> str | None:
        if arn is not None and arn not in info.data.get("allowed_queue_arns", ()):
            raise ValueError("is not among the allowedQueueArns")
        return arn

    def to_client(self, stored: Client) -> Client:
        """The client as it is kept. Fields that no request sets, such as `paused`, stay as they are stored."""
        return kept(Client, self, stored, retry_policy=self.retry_policy and self.retry_policy.to_policy())
