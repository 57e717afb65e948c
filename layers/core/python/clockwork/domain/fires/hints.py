"""Hints: the part of its occurrence that a named job's release carries.

The job's row has the rest, and is read last.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from clockwork.domain.jobs import Occurrence
from clockwork.domain.named_jobs import NamedJob, occurrence_of
from clockwork.domain.releases import Release
from clockwork.targets.message import Payload

_NO_PAYLOAD = Payload(b"")
R = TypeVar("R", bound=Release)


def hint_of(occurrence: Occurrence) -> Occurrence:
    """The occurrence without its payload. An HTTP target keeps only its host and its timeout.

    Its policies stay, for ends before a read of the job's row: a lost deliverer, a dead letter.
    """
    if occurrence.is_hint:
        return occurrence
    return msgspec.structs.replace(occurrence, payload=_NO_PAYLOAD, target=occurrence.target.hint(), is_hint=True)


def hinted(release: R) -> R:
    """The release as it is sent: without the part of its occurrence that the row of its job has."""
    if not release.follows_job:
        return release
    return msgspec.structs.replace(release, occurrence=hint_of(release.occurrence))


def completed(hint: Occurrence, job: NamedJob) -> Occurrence:
    """The occurrence as the job's definition has it now, at the place in an order where its release lies.

    A job that ends by reports by now has left the order.
    """
    whole = occurrence_of(job, hint.due_at, hint.created_at)
    ordering_key = hint.ordering_key if not whole.is_reported else None
    kept = {"sequence": hint.sequence, "record": hint.record, "held_from": hint.held_from}
    return msgspec.structs.replace(whole, ordering_key=ordering_key, **kept)
