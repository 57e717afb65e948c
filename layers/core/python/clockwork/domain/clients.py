"""Clients: who may call for them, and what they allow."""

from __future__ import annotations

import re

import msgspec

from clockwork.domain.jobs import RecordLevel, RetryPolicy

#: What a clientId may be; nothing else was ever a client.
CLIENT_ID = re.compile(r"[a-z][a-z0-9-]{0,63}")
_ASSUMED_ROLE = re.compile(r"arn:(?P<partition>[a-z-]+):sts::(?P<account>\d{12}):assumed-role/(?P<role>[^/]+)/[^/]+")


class Client(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A tenant. `signing_secrets` are names in Secrets Manager or Parameter Store, never the secrets themselves."""

    client_id: str
    principals: tuple[str, ...] = ()
    record: RecordLevel = "full"
    signing_secrets: tuple[str, ...] = ()
    allowed_queue_arns: tuple[str, ...] = ()
    #: Kafka topics, or beginnings of their names followed by `*`.
    allowed_topics: tuple[str, ...] = ()
    allowed_private_targets: tuple[str, ...] = ()
    #: If not empty, webhooks may go to these hosts only: names, or `*.` and a domain.
    allowed_target_hosts: tuple[str, ...] = ()
    #: What lambda, eventbridge and sns targets may name, and roles taken on for them: ARNs, or prefixes ending in `*`.
    allowed_target_arns: tuple[str, ...] = ()
    #: What jobs get that say nothing of it themselves.
    retry_policy: RetryPolicy | None = None
    relevancy_window_seconds: float | None = None
    #: Deliveries started a second, retries included; None: as many as come due.
    max_rate_per_second: float | None = None
    #: Deliveries under way at once; None: a share of what the deliverer can do.
    max_concurrency: int | None = None
    creates_per_second: float | None = None
    jobs_per_day: int | None = None
    #: How long records of executions that have ended are kept; the deployment's setting unless given.
    retention_days: int | None = None
    dead_letter_queue_arn: str | None = None
    #: Nothing is delivered: what comes due is parked until somebody resumes the client.
    paused: bool = False
    pause_reason: str | None = None

    def may_target(self, arn: str) -> bool:
        """Whether its `allowed_target_arns` list this ARN. Nothing is allowed unless it is listed."""
        return any(
            arn.startswith(listed[:-1]) if listed.endswith("*") else arn == listed
            for listed in self.allowed_target_arns
        )

    def allows_topic(self, topic: str) -> bool:
        """Whether its `allowed_topics` list this Kafka topic. Nothing is allowed unless it is listed."""
        return any(
            topic.startswith(listed[:-1]) if listed.endswith("*") else topic == listed for listed in self.allowed_topics
        )


def principal_of(caller_arn: str) -> str:
    """The principal behind a caller's ARN: an assumed role's session counts as its role, whose path STS drops.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
    """
    match = _ASSUMED_ROLE.fullmatch(caller_arn)
    if match is None:
        return caller_arn
    return f"arn:{match['partition']}:iam::{match['account']}:role/{match['role']}"
