"""Find a job by its id, only ever for whom may see it: another's and none at all are the same answer."""

from __future__ import annotations

import msgspec

from clockwork.domain import codec, ids
from clockwork.domain.errors import JobNotFound, NotNamed, Unreadable
from clockwork.domain.ids import AnonymousJob, InvalidId
from clockwork.domain.jobs import Occurrence
from clockwork.domain.named import NamedJob
from clockwork.flows.authorise import Caller
from clockwork.flows.world import World


class KeptJob(msgspec.Struct, frozen=True):
    """An anonymous job as its row keeps it."""

    job_id: str
    place: AnonymousJob
    occurrence: Occurrence
    cancelled: bool


def get_kept_job(world: World, caller: Caller, job_id: str) -> KeptJob:
    """The job, if its row is still kept and the caller may see it. Raises JobNotFound."""
    place = decode_anonymous(job_id)
    row = world.timeline.find([(place.partition_id, place.key)])[0]
    element = codec.decode_row(row.blob).get(place.element) if row is not None else None
    if row is None or not isinstance(element, Occurrence) or not caller.may_act_for(element.client_id):
        raise JobNotFound(job_id)
    return KeptJob(job_id, place, element, place.element in row.cancelled)


def get_by_key(world: World, client_id: str, job_key: str) -> NamedJob | None:
    """The job under a key, tombstones included. Raises Unreadable."""
    job = world.jobs.get([(client_id, job_key)])[0]
    if isinstance(job, Unreadable):
        raise job
    return job


def get_named(world: World, caller: Caller, job_id: str) -> NamedJob:
    """The named job with this id, tombstones included. Raises JobNotFound, or NotNamed for an anonymous job's id."""
    try:
        place = ids.decode_job(job_id)
    except InvalidId:
        raise JobNotFound(job_id) from None
    if isinstance(place, AnonymousJob):
        get_kept_job(world, caller, job_id)
        raise NotNamed("an anonymous job is its instant: cancel it and create another")
    job = get_by_key(world, place.client_id, place.job_key)
    if job is None or job.incarnation != place.incarnation or not caller.may_act_for(job.client_id):
        raise JobNotFound(job_id)
    return job


def decode_anonymous(job_id: str) -> AnonymousJob:
    """The place of an anonymous job. Raises JobNotFound."""
    try:
        place = ids.decode_job(job_id)
    except InvalidId:
        raise JobNotFound(job_id) from None
    if not isinstance(place, AnonymousJob):
        raise JobNotFound(job_id)
    return place
