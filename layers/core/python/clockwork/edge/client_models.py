"""The body of a request to create or replace a client."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from clockwork.domain.clients import Client
from clockwork.domain.urls import InvalidUrl, parse
from clockwork.edge.checks import EdgeModel, checks_of

#: Users keep their path; STS drops a role's, so a role is named without one.
Principal = Annotated[
    str,
    Field(
        max_length=600,
        pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:(root|user/[A-Za-z0-9_+=,.@/-]+|role/[A-Za-z0-9_+=,.@-]+)$",
    ),
]
#: A change replaces all of them in one transaction of at most 100 writes, the client's own among them.
MOST_PRINCIPALS = 49
QueueArn = Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:sqs:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_-]{1,75}(\.fifo)?$")]
SecretName = Annotated[str, Field(pattern=r"^clockwork/[A-Za-z0-9/_+=.@-]{1,200}$")]
PrivateTarget = Annotated[str, Field(max_length=300)]


class ClientBody(EdgeModel):
    """PUT /v1/clients/{clientId}: replaces the client whole."""

    not_built: ClassVar[frozenset[str]] = frozenset(
        {
            "/retryPolicy",
            "/relevancyWindowSeconds",
            "/maxRatePerSecond",
            "/maxConcurrency",
            "/createsPerSecond",
            "/jobsPerDay",
            "/retentionDays",
            "/deadLetterQueueArn",
            "/allowedTargetHosts",
            "/allowedTargetArns",
        }
    )

    principals: list[Principal] = Field([], max_length=MOST_PRINCIPALS, description="ARNs of IAM users and roles")
    record: Literal["none", "full"] = "full"
    signing_secrets: list[SecretName] = Field([], max_length=2, description="names, never secrets")
    allowed_queue_arns: list[QueueArn] = Field([], max_length=100)
    allowed_private_targets: list[PrivateTarget] = Field([], max_length=100, description="host:port")

    @field_validator("allowed_private_targets")
    @classmethod
    def _host_and_port(cls, targets: list[str], info: ValidationInfo) -> list[str]:
        for index, target in enumerate(targets):
            try:
                fault = None if parse(f"http://{target}").place == target.lower() else "must be host:port and no more"
            except InvalidUrl as error:
                fault = str(error)
            if fault is not None:
                checks_of(info).report(f"/allowedPrivateTargets/{index}", fault)
        return targets

    def to_client(self, client_id: str) -> Client:
        """The client as it is kept."""
        return Client(
            client_id=client_id,
            principals=tuple(self.principals),
            record=self.record,
            signing_secrets=tuple(self.signing_secrets),
            allowed_queue_arns=tuple(self.allowed_queue_arns),
            allowed_private_targets=tuple(self.allowed_private_targets),
        )
