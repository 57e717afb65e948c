"""Rows of the timeline: made from occurrences, releases and pointers, and read back into releases and pointers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from clockwork.domain import keys
from clockwork.domain.executions import LONGEST_ERROR, Execution, Kept, State
from clockwork.domain.ids import AnonymousJob, only_execution
from clockwork.domain.jobs import Occurrence
from clockwork.domain.named_jobs import NamedJob, Pointer
from clockwork.domain.ordering import row_id_of
from clockwork.domain.releases import Deliver, Of, Release
from clockwork.domain.storage import codec
from clockwork.domain.timeline import Row

#: The clientId in the record of an unreadable row, whose client is unknown. No client's id looks like this.
UNKNOWN_CLIENT = "?"
#: Bytes kept of an unreadable row: with its keys and its reason the record fits into an item of 400 KB.
LARGEST_RAW = 350_000


def row_of(partition_id: str, key: str, elements: Sequence[codec.Element], expires_at: int) -> Row:
    """A row of one or more elements. `key` carries the earliest instant at which one of them is to run."""
    return Row(partition_id, key, codec.encode_row(elements), expires_at)


def row_of_job(partition_id: str, row_id: str, occurrence: Occurrence, expires_at: int) -> Row:
    """The row of one anonymous job."""
    return Row(partition_id, keys.row_key(occurrence.due_at, row_id), codec.encode_row([occurrence]), expires_at)


def row_of_retry(release: Release, expires_at: int) -> Row:
    """The row of a release that waits on the timeline of its shard. Its key is derived: a repeat is the same row.

    Ordered ones that wait from the same instant on, as they were redriven together, sort by due instant and sequence.
    """
    occurrence, row_id = release.occurrence, release.row_id("retry")
    if occurrence.ordering_key is not None:
        row_id = f"{occurrence.due_at:013d}-{row_id_of(row_id, occurrence.sequence)}"
    return row_of(release.shard, keys.row_key(release.run_at, row_id), [release], expires_at)


def row_of_many(partition_id: str, key: str, occurrences: Mapping[int, Occurrence], expires_at: int) -> Row:
    """The row of several anonymous jobs, given by their place in it. None may be due before the instant of `key`."""
    return Row(partition_id, key, codec.encode_packed(occurrences), expires_at)


def releases_of(row: Row) -> list[Release]:
    """The releases of a row, without its cancelled elements. Raises NewerFormat or Undecodable."""
    return [
        element if isinstance(element, Release) else release_of(row, index, element)
        for index, element in codec.decode_row(row.blob).items()
        if not isinstance(element, Pointer) and index not in row.cancelled
    ]


def release_of(row: Row, index: int, element: Occurrence) -> Deliver:
    """The release of the job at a place of a row."""
    return Deliver(Of(AnonymousJob(row.partition_id, row.key, index).job_id), element, element.due_at)


def undecodable_execution(row: Row, client_id: str, reason: str, expires_at: int) -> Execution:
    """The DEAD record of a row that cannot be released, with its raw bytes. It lets the poller pass the row."""
    dead = _dead(row, 0, client_id, keys.instant_of(row.key), reason, expires_at)
    return msgspec.structs.replace(dead, kept=Kept(raw=row.blob[:LARGEST_RAW]))


def undecodable_element(row: Row, index: int, element: Occurrence, reason: str, expires_at: int) -> Execution:
    """The DEAD record of the job at one place of a row whose other jobs are delivered, if no release can be made."""
    dead = _dead(row, index, element.client_id, element.due_at, reason, expires_at)
    return msgspec.structs.replace(dead, created_at=element.created_at)


def _dead(row: Row, index: int, client_id: str, due_at: int, reason: str, expires_at: int) -> Execution:
    job_id = AnonymousJob(row.partition_id, row.key, index).job_id
    return Execution(
        job_id=job_id,
        execution_id=only_execution(job_id, due_at),
        client_id=client_id,
        due_at=due_at,
        state=State.DEAD,
        revision=1,
        expires_at=expires_at,
        reason=reason[:LONGEST_ERROR],
    )


def pointer_row(job: NamedJob, pointer: Pointer, expires_at: int) -> Row:
    """The timeline row that holds a pointer of the job."""
    return row_of(job.partition_id, pointer.key, [pointer], expires_at)
