"""Clients of AWS services that act under the role which a job's target names.

Credentials of a role are asked for once, and renewed shortly before they end.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from clockwork.aws.session import Aws
from clockwork.aws.targets.service_attempts import NoRole
from clockwork.ports import Clock

if TYPE_CHECKING:
    from mypy_boto3_sts.client import STSClient

SESSION_NAME = "clockwork"
#: Every role allows sessions of this length, and role chaining allows no longer ones:
#: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
SESSION_SECONDS = 3_600
#: Credentials are renewed this long before they end (ms).
RENEWED_BEFORE_MS = 300_000
#: The most clients that are kept; the one made longest ago makes room.
CAPACITY = 200


class RoleClients:
    """`ServiceClients` under the deliverer's own role, or under a role that trusts it with the ExternalId = clientId.

    The ExternalId keeps one client from using a role that trusts Clockwork for another client (the confused deputy).
    Safe for many threads.
    """

    def __init__(self, aws: Aws, clock: Clock) -> None:
        self._aws = aws
        self._sts: STSClient = aws.client_later("sts")
        self._clock = clock
        self._lock = Lock()
        self._made: dict[tuple[str, str, str], tuple[int, Any]] = {}

    def client(self, service: str, role_arn: str | None, client_id: str) -> Any:
        if role_arn is None:
            return self._aws.client(service)
        key = (service, role_arn, client_id)
        with self._lock:
            until, client = self._made.get(key, (0, None))
            if self._clock.now() >= until:
                until, client = self._make(service, role_arn, client_id)
                self._made.pop(key, None)
                self._made[key] = (until, client)
                if len(self._made) > CAPACITY:
                    del self._made[next(iter(self._made))]
            return client

    def _make(self, service: str, role_arn: str, client_id: str) -> tuple[int, Any]:
        try:
            taken = self._sts.assume_role(
                RoleArn=role_arn,
                RoleSessionName=SESSION_NAME,
                ExternalId=client_id,
                DurationSeconds=SESSION_SECONDS,
            )["Credentials"]
        except ClientError as error:
            code = error.response["Error"].get("Code", "")
            trust = f"it must trust Clockwork's deliverer role under the ExternalId {client_id}"
            raise NoRole(f"{role_arn} cannot be taken on ({code}): {trust}") from None
        except BotoCoreError as error:
            raise NoRole(f"{role_arn} cannot be taken on: {type(error).__name__}") from None
        until = self._clock.now() + SESSION_SECONDS * 1000 - RENEWED_BEFORE_MS
        keys = (taken["AccessKeyId"], taken["SecretAccessKey"], taken["SessionToken"])
        return until, self._aws.client_as(service, *keys)
