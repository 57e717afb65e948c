"""Clients (tenants): the principals that may act for them, the targets that they may reach, and their limits."""

from __future__ import annotations

import re

import msgspec

from clockwork.domain.errors import Unreadable
from clockwork.domain.policies import Precision, RecordLevel, RetryPolicy

#: The form of a clientId. No client ever had another.
CLIENT_ID = re.compile(r"[a-z][a-z0-9-]{0,63}")
#: The partition of the clients table that has the admins. Policies name it, and no clientId is like it.
ADMINS = "!"
_ASSUMED_ROLE = re.compile(r"arn:(?P<partition>[a-z-]+):sts::(?P<account>\d{12}):assumed-role/(?P<role>[^/]+)/[^/]+")


#: A deleted client is gone this much later (ms) than the last call that may have created something of it.
SPARE_MS = 10_000
#: A client keeps so many of its pauses that have ended. Occurrences that are still parked from an older pause are all
#: delivered.
MOST_PAUSES = 8


class Pause(msgspec.Struct, frozen=True, array_like=True):
    """A pause of a client that has ended: it held back what was due after `began_at` and by `ended_at` (ms)."""

    began_at: int
    ended_at: int


class Client(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A tenant. `signing_secrets` are names in Secrets Manager or Parameter Store, never the secrets themselves."""

    client_id: str
    #: How many times it was written, so that no writer undoes what it has not read.
    revision: int = 0
    principals: tuple[str, ...] = ()
    record: RecordLevel = "full"
    signing_secrets: tuple[str, ...] = ()
    allowed_queue_arns: tuple[str, ...] = ()
    #: Topics of the deployment's cluster, or prefixes of their names followed by `*`.
    allowed_topics: tuple[str, ...] = ()
    allowed_private_targets: tuple[str, ...] = ()
    #: If not empty, webhooks may go to these hosts only: names, or `*.` and a domain.
    allowed_target_hosts: tuple[str, ...] = ()
    #: ARNs, or prefixes ending in `*`: of resources of AWS services that targets may name, and of roles that
    #: Clockwork may assume to deliver.
    allowed_target_arns: tuple[str, ...] = ()
    #: The pools whose workers may get its jobs.
    allowed_pools: tuple[str, ...] = ()
    #: This policy and this window hold for jobs that do not name their own.
    retry_policy: RetryPolicy | None = None
    relevancy_window_seconds: float | None = None
    #: The precision of jobs that do not name their own. None: millisecond.
    precision: Precision | None = None
    #: The rate limit: deliveries started per second, retries included. None: as many as come due.
    max_rate_per_second: float | None = None
    #: The concurrency limit: deliveries under way at once. None: a share of the deliverers beside others.
    max_concurrency: int | None = None
    creates_per_second: float | None = None
    jobs_per_day: int | None = None
    #: No recurring job may fire more often than once in so many seconds.
    min_interval_seconds: float = 1
    #: For how many days after its end an execution's record is kept. None: as the deployment's setting says.
    retention_days: int | None = None
    dead_letter_queue_arn: str | None = None
    #: Its executions are listed in an index of their own once they have ended, at one write each.
    runs_index: bool = False
    #: Since when (ms) that is so: what ended earlier is not in it.
    runs_indexed_from: int | None = None
    #: Nothing is delivered: the deliverer parks occurrences that come due until an admin resumes the client.
    paused: bool = False
    pause_reason: str | None = None
    #: When its pause began (ms).
    paused_at: int | None = None
    #: The last pauses that have ended, oldest first.
    pauses: tuple[Pause, ...] = ()
    #: When its delete began (ms): nothing of it starts any more. And when all was done: then it is a tombstone.
    deleting_at: int | None = None
    gone_at: int | None = None
    #: While it is being deleted: its named jobs up to this key have ended.
    ended_to: str | None = None
    #: Jobs and records that were created before this instant (ms) are of a client that had the id before. 0: nobody had
    #: it.
    since_at: int = 0

    def allows(self, listed: str, name: str) -> bool:
        """Whether one of its lists, such as `allowed_pools`, has this name, or a prefix of it followed by `*`.

        A name that the list does not have is not allowed.
        """
        return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in getattr(self, listed))


class ClientUnreadable(Unreadable):
    """A client's row cannot be read. The message names the repair. `standing`: what is left of the client."""

    def __init__(self, client_id: str, reason: str, standing: Client) -> None:
        self.standing = standing
        super().__init__(
            f"the client {client_id} cannot be read as it is stored ({reason}): an admin repairs it by replacing it, "
            f"with PUT /v1/clients/{client_id}"
        )


def standing_of(client: Client) -> Client:
    """The fields of the client that no request sets, with its principals: they are stored once more beside the client.

    If a PUT replaces a client whose row is damaged, the PUT therefore neither resumes the client nor undoes its delete.
    Jobs that an earlier client left under its id stay those of the earlier client.
    """
    return Client(
        client_id=client.client_id,
        revision=client.revision,
        principals=client.principals,
        paused=client.paused,
        pause_reason=client.pause_reason,
        paused_at=client.paused_at,
        pauses=client.pauses,
        deleting_at=client.deleting_at,
        gone_at=client.gone_at,
        ended_to=client.ended_to,
        since_at=client.since_at,
    )


#: The reason in the records of what a deleted client leaves behind.
DELETED = "its client was deleted"


def disowns(client: Client | None, created_at: int) -> bool:
    """Whether what was created at this instant (ms) belongs to a client that was deleted, or is being deleted."""
    return client is not None and (client.deleting_at is not None or created_at < client.since_at)


def as_replaced(before: Client, after: Client, from_at: int) -> Client:
    """The client that replaces `before`. An index that it switches on has what ends from `from_at` (ms) on."""
    if before.runs_index == after.runs_index:
        return after
    return msgspec.structs.replace(after, runs_indexed_from=from_at if after.runs_index else None)


def as_gone(client: Client, now: int) -> Client:
    """The tombstone of a client of which nothing is left."""
    return Client(
        client_id=client.client_id, revision=client.revision + 1, deleting_at=client.deleting_at or now, gone_at=now
    )


def succeeds_at(before: Client | None) -> int:
    """From when on (ms) what is created is of the client that gets this id now; 0 if nobody has had it.

    That lies between two instants that clocks cannot put in the wrong order. One is the last instant at which something
    of the old client was created: SPARE_MS before the old client was gone, at the latest. The other one is the first at
    which something of the new client is created.
    """
    return 0 if before is None or before.gone_at is None else before.gone_at - SPARE_MS // 2


def present(client: Client | None) -> Client | None:
    """The client, unless it is gone."""
    return None if client is None or client.gone_at is not None else client


def with_pause(client: Client, reason: str | None, now: int) -> Client:
    """The client as an admin pauses it at `now` (ms); one that is paused already has been since it was."""
    if client.paused:
        return msgspec.structs.replace(client, pause_reason=reason)
    # Clocks of two callers differ, and pauses do not overlap.
    began_at = max(now, *(pause.ended_at for pause in client.pauses), 0)
    return msgspec.structs.replace(client, paused=True, pause_reason=reason, paused_at=began_at)


def without_pause(client: Client, now: int) -> Client:
    """The client as an admin resumes it at `now` (ms). It keeps its last pauses, for what they held back."""
    ended = () if client.paused_at is None else (Pause(client.paused_at, max(now, client.paused_at)),)
    pauses = (*client.pauses, *ended)[-MOST_PAUSES:]
    return msgspec.structs.replace(client, paused=False, pause_reason=None, paused_at=None, pauses=pauses)


def principal_of(caller_arn: str) -> str:
    """The principal behind a caller's ARN. A session of an assumed role counts as the role.

    STS drops the role's path, so the principal has none:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html
    """
    match = _ASSUMED_ROLE.fullmatch(caller_arn)
    if match is None:
        return caller_arn
    return f"arn:{match['partition']}:iam::{match['account']}:role/{match['role']}"
