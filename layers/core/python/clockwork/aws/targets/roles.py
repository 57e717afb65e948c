"""Clients of AWS services that act under the role which a job's target names, each for one call within a deadline.

Credentials of a role are asked for once, and renewed shortly before they end. While STS is asked for one role, attempts
under other roles go on. A role that could not be assumed is not asked for again for a while.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

from clockwork.aws import botocore_errors
from clockwork.aws.deadlines import OutOfTime
from clockwork.aws.session import CONNECT_TIMEOUT_SECONDS, Aws
from clockwork.aws.targets.service_attempts import NoRole
from clockwork.ports import Clock

SESSION_NAME = "clockwork"
#: Every role allows sessions of this length, and role chaining allows no longer ones:
#: https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
SESSION_SECONDS = 3_600
#: Credentials are renewed this long before they end (ms).
RENEWED_BEFORE_MS = 300_000
#: For so long a role that STS refused is refused without asking again (ms), and one for which STS gave no answer.
REFUSED_FOR_MS = 30_000
UNANSWERED_FOR_MS = 5_000
#: The most roles that are kept; the one met longest ago makes room.
CAPACITY = 200
#: How long a call may wait for its answer (s), the longest that fits. Each is another client, so there are few.
READ_SECONDS = (3.0, 2.0, 1.0, 0.5)


class _Role:
    """A role of one client: its credentials and the clients made with them, or why it was not assumed, until when."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.until = 0
        self.keys: tuple[str, str, str] | None = None
        self.refusal = ""
        self.clients: dict[tuple[str, float], Any] = {}


class RoleClients:
    """`ServiceClients` under the deliverer's own role, or under a role that trusts it with the ExternalId = clientId.

    The ExternalId keeps one client from using a role that trusts Clockwork for another client (the confused deputy).
    Safe for many threads.
    """

    def __init__(self, aws: Aws, clock: Clock) -> None:
        self._aws = aws
        self._clock = clock
        self._lock = Lock()
        self._roles: dict[tuple[str, str], _Role] = {}

    def client(self, service: str, role_arn: str | None, client_id: str, deadline_at: int) -> Any:
        if role_arn is None:
            return self._aws.client(service, 1, self._read_seconds(deadline_at))
        role = self._role(role_arn, client_id)
        # Attempts under the same role wait for one answer of STS, each for as long as it has time.
        if not role.lock.acquire(timeout=max(0.0, self._seconds_left(deadline_at))):
            raise OutOfTime
        try:
            keys = self._keys(role, role_arn, client_id, deadline_at)
            wanted = service, self._read_seconds(deadline_at)
            if wanted not in role.clients:
                role.clients[wanted] = self._aws.client_as(service, *keys, wanted[1])
            return role.clients[wanted]
        finally:
            role.lock.release()

    def _role(self, role_arn: str, client_id: str) -> _Role:
        with self._lock:
            role = self._roles.setdefault((role_arn, client_id), _Role())
            if len(self._roles) > CAPACITY:
                del self._roles[next(iter(self._roles))]
            return role

    def _keys(self, role: _Role, role_arn: str, client_id: str, deadline_at: int) -> tuple[str, str, str]:
        """The credentials of the role, whose lock is held. Raises NoRole and OutOfTime."""
        if self._clock.now() >= role.until:
            sts = self._aws.client("sts", 1, self._read_seconds(deadline_at))
            role.keys, valid_ms = None, UNANSWERED_FOR_MS
            role.clients = {}
            try:
                role.keys, valid_ms = _assume(sts, role_arn, client_id), SESSION_SECONDS * 1000 - RENEWED_BEFORE_MS
            except botocore_errors.ClientError as error:
                code = error.response["Error"].get("Code", "")
                trust = f"it must trust Clockwork's deliverer role under the ExternalId {client_id}"
                trust += ", which needs sts:AssumeRole on it by the option targetArns"
                role.refusal, valid_ms = f"{role_arn} cannot be taken on ({code}): {trust}", REFUSED_FOR_MS
            except (botocore_errors.BotoCoreError, botocore_errors.ResponseParserError) as error:
                role.refusal = f"{role_arn} cannot be taken on: {type(error).__name__}"
            role.until = self._clock.now() + valid_ms
        if role.keys is None:
            raise NoRole(role.refusal)
        return role.keys

    def _seconds_left(self, deadline_at: int) -> float:
        return (deadline_at - self._clock.now()) / 1000

    def _read_seconds(self, deadline_at: int) -> float:
        """How long a call that begins now may wait for its answer. Raises OutOfTime."""
        left = self._seconds_left(deadline_at) - CONNECT_TIMEOUT_SECONDS
        for seconds in READ_SECONDS:
            if seconds <= left:
                return seconds
        raise OutOfTime


def _assume(sts: Any, role_arn: str, client_id: str) -> tuple[str, str, str]:
    """New credentials of the role; raises ClientError, BotoCoreError and ResponseParserError."""
    answer = sts.assume_role(
        RoleArn=role_arn, RoleSessionName=SESSION_NAME, ExternalId=client_id, DurationSeconds=SESSION_SECONDS
    )
    if "Credentials" not in answer:
        raise botocore_errors.ResponseParserError("STS answered without credentials")
    taken = answer["Credentials"]
    return taken["AccessKeyId"], taken["SecretAccessKey"], taken["SessionToken"]
