"""Access: the clients for which a caller may act, and a job by its id if the caller may see it.

An unknown client and another caller's client get the same answer (NotAllowed). The same holds for a missing job,
another client's job, and a job of a deleted client that had the id before (JobNotFound). Such an earlier client's job
is shown to admins alone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

import msgspec

from clockwork.domain import ids
from clockwork.domain.clients import CLIENT_ID, Client, ClientUnreadable, present, principal_of
from clockwork.domain.errors import (
    ClientNotFound,
    ExecutionNotFound,
    JobNotFound,
    NotAllowed,
    NotNamed,
    Unreadable,
    readable,
)
from clockwork.domain.executions import Execution
from clockwork.domain.ids import AnonymousJob, InvalidId, NamedJobId, NodeJob
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.ownership import is_of_client_since
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.storage import codec
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: Named jobs as stored, by (client_id, job_key): None if there is none, Unreadable if this version cannot read it.
Jobs = Mapping[tuple[str, str], NamedJob | Unreadable | None]


class Caller(msgspec.Struct, frozen=True):
    """The principal that makes a request. An admin may act for every client.

    `client_ids`: the clients that list the principal, filled in by `require_known`.
    """

    principal: str
    is_admin: bool = False
    client_ids: frozenset[str] = frozenset()

    def may_act_for(self, client_id: str) -> bool:
        """Whether the caller may act for this client. If not, the client's jobs do not exist for the caller."""
        return self.is_admin or client_id in self.client_ids


#: The caller without a signature: no client and no deployment lists it.
NOBODY = Caller("")


def identify(world: World, caller_arn: str) -> Caller:
    """The caller behind an ARN; `client_ids` is still empty. Raises Unavailable if nobody can tell who is an admin."""
    principal = principal_of(caller_arn)
    return Caller(principal, is_admin=principal in world.clients.admins())


def require_known(world: World, caller: Caller) -> Caller:
    """The caller with the clients that list it. Raises NotAllowed if no client does and it is no admin."""
    known = msgspec.structs.replace(caller, client_ids=frozenset(c.client_id for c in own_clients(world, caller)))
    if not known.client_ids and not known.is_admin:
        raise NotAllowed("no client lists the caller's principal")
    return known


def payers(caller: Caller, job_id: str | None) -> list[str]:
    """On whose account a known caller asks for a job: the client in the id of a named one, or each of the caller's own.

    None for a job of a client for which the caller may not act, which is not read.
    """
    client_id = ids.client_in(job_id)
    if client_id is None:
        return sorted(caller.client_ids)
    return [client_id] if caller.may_act_for(client_id) else []


def clients_of(world: World, caller: Caller) -> list[Client]:
    """The clients that list a caller whom `require_known` knows, by clientId. None for an admin whom none lists."""
    found = [world.clients.get(client_id) for client_id in sorted(caller.client_ids)]
    return [client for client in found if client is not None]


def require_admin(caller: Caller) -> None:
    """Raise NotAllowed unless the caller is an admin principal."""
    if not caller.is_admin:
        raise NotAllowed("only an admin principal may do this")


def client_for(world: World, caller: Caller, client_id: str | None) -> Client:
    """The client for which the caller acts: the one named, or if None the only one that lists the caller's principal.

    Raises NotAllowed if the named client does not exist or does not list the caller; an admin gets ClientNotFound for
    one that does not exist. Raises NotAllowed also if no client is named and not exactly one lists the caller. Raises
    ClientUnreadable for one that cannot be read, but to nobody else than admins and those whom it lists.
    """
    if client_id is None:
        own = own_clients(world, caller)
        if len(own) != 1:
            raise NotAllowed("name the clientId: the caller does not act for exactly one client")
        return own[0]
    client = present(_read(world, caller, client_id)) if CLIENT_ID.fullmatch(client_id) else None
    if client is None and caller.is_admin:
        raise ClientNotFound(client_id)
    if client is None or not (caller.is_admin or caller.principal in client.principals):
        raise NotAllowed("the caller may not act for this client")
    return client


def _read(world: World, caller: Caller, client_id: str) -> Client | None:
    """The client. The rows of the caller's principal, which are not of the client, say who learns that it is damaged.

    All others are told the same as of a client that does not exist.
    """
    try:
        return world.clients.get(client_id)
    except ClientUnreadable:
        if caller.is_admin or client_id in world.clients.of_principal(caller.principal):
            raise
        return None


def own_clients(world: World, caller: Caller) -> list[Client]:
    """The clients that list the caller's principal, whether or not it is an admin.

    A client that cannot be read is left out: the caller may act for its others. If there is no other, this raises
    ClientUnreadable.
    """
    listed, damaged = [], None
    for client_id in world.clients.of_principal(caller.principal):
        try:
            listed.append(world.clients.get(client_id))
        except ClientUnreadable as fault:
            damaged = fault
            log.warning("a client is left out: %s", fault, extra={"action": "client_left_out", "clientId": client_id})
    own = [client for client in listed if client is not None and caller.principal in client.principals]
    if damaged is not None and not own and not caller.is_admin:
        raise damaged
    return own


class KeptJob(msgspec.Struct, frozen=True):
    """An anonymous job as its timeline row keeps it."""

    job_id: str
    job_ref: AnonymousJob
    occurrence: Occurrence
    cancelled: bool


def get_kept_job(world: World, caller: Caller, job_id: str) -> KeptJob:
    """The anonymous job, if its row is still kept and the caller may see it. Otherwise raises JobNotFound."""
    job_ref = decode_anonymous(job_id)
    row = world.timeline.find([(job_ref.partition_id, job_ref.key)])[0]
    element = codec.decode_row(row.blob).get(job_ref.element) if row is not None else None
    if row is None or not isinstance(element, Occurrence) or not caller.may_act_for(element.client_id):
        raise JobNotFound(job_id)
    if element.created_at < _since(world, caller, element.client_id):
        raise JobNotFound(job_id)
    return KeptJob(job_id, job_ref, element, job_ref.element in row.cancelled)


def get_by_key(world: World, client_id: str, job_key: str) -> NamedJob | None:
    """The named job under a client's jobKey, tombstones included; None if there is none. Raises Unreadable."""
    return readable(world.jobs.get([(client_id, job_key)])[0])


def get_jobs(world: World, job_refs: Iterable[tuple[str, str]]) -> Jobs:
    """The named jobs at (client_id, job_key), tombstones included, whether or not this version can read them."""
    distinct = sorted(set(job_refs))
    return dict(zip(distinct, world.jobs.get(distinct), strict=True)) if distinct else {}


def get_named(world: World, caller: Caller, job_id: str) -> NamedJob:
    """The named job with this id, tombstones included. Raises JobNotFound, or NotNamed for an anonymous job's id."""
    job = find_life(world, caller, job_id)
    if isinstance(job, FormerLife):
        raise JobNotFound(job_id)
    return job


class FormerLife(msgspec.Struct, frozen=True):
    """A deleted job whose key is another job's by now, so that its records alone tell of it.

    `successor`: the job that has the key now, or a tombstone of it.
    """

    job_ref: NamedJobId
    successor: NamedJob


def find_life(world: World, caller: Caller, job_id: str) -> NamedJob | FormerLife:
    """The life of a key that has this id, also after the key was used again. Raises JobNotFound and NotNamed."""
    job_ref = _decode(job_id)
    if isinstance(job_ref, AnonymousJob):
        get_kept_job(world, caller, job_id)
        raise NotNamed("an anonymous job is its instant: cancel it and create another")
    if not caller.may_act_for(job_ref.client_id):
        raise JobNotFound(job_id)  # unread: nobody may use up what can be read of another client
    job = get_by_key(world, job_ref.client_id, job_ref.job_key)
    if job is None or job.incarnation < job_ref.incarnation:
        raise JobNotFound(job_id)
    since_at = _since(world, caller, job.client_id)
    if job.incarnation > job_ref.incarnation > since_at:
        return FormerLife(job_ref, job)
    if job.incarnation != job_ref.incarnation or job.created_at < since_at:
        raise JobNotFound(job_id)
    return job


def may_see(world: World, caller: Caller, execution: Execution) -> bool:
    """Whether the caller may see an execution: one of a client for which it may act, and not of one that had the id."""
    if not caller.may_act_for(execution.client_id):
        return False
    return is_of_client_since(_since(world, caller, execution.client_id), execution)


def _since(world: World, caller: Caller, client_id: str) -> int:
    """From when on (ms) a caller that may act for the client sees what was created under its id; an admin all of it."""
    client = None if caller.is_admin else world.clients.get(client_id)
    return 0 if client is None else client.since_at


def decode_anonymous(job_id: str) -> AnonymousJob:
    """The timeline row of an anonymous job, and its place in the row. Raises JobNotFound for any other id."""
    job_ref = _decode(job_id)
    if not isinstance(job_ref, AnonymousJob):
        raise JobNotFound(job_id)
    return job_ref


def _decode(job_id: str) -> AnonymousJob | NamedJobId:
    try:
        job_ref = ids.decode_job(job_id)
    except InvalidId:
        raise JobNotFound(job_id) from None
    if isinstance(job_ref, NodeJob):
        raise JobNotFound(job_id)  # A node is an execution of its run, and no job that somebody made.
    return job_ref


def find_execution(world: World, caller: Caller, execution_id: str) -> tuple[str, Execution | None]:
    """The jobId in an executionId, and the execution's record if there is one that the caller may see.

    Raises ExecutionNotFound for a text that is no executionId.
    """
    try:
        job_id = ids.decode_execution(execution_id).job_id
    except InvalidId:
        raise ExecutionNotFound(execution_id) from None
    if (client_id := ids.client_in(job_id)) is not None and not caller.may_act_for(client_id):
        return job_id, None  # unread, as the job is
    stored = world.executions.find(job_id, execution_id)
    return job_id, stored if stored is not None and may_see(world, caller, stored) else None
