"""The executions of a job that have not ended, by its records: read newest first, a bounded number of them a call.

A job may have a million records that are young enough to be retried, more than a call can read in its time. So a call
reads so many, and marks how far it came. A repeat of it reads the newest once more and goes on behind the mark.

How it fails. If the call dies before the mark, or cannot write it, the repeat begins where that call began. If two
calls mark at once, the first mark stays, and what lies between is read twice.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import msgspec

from clockwork.domain import ids, keys
from clockwork.domain.executions import Execution, State
from clockwork.domain.named_jobs import NamedJob, Pointer
from clockwork.domain.recurrence import Fire
from clockwork.domain.storage.codec import decode_row
from clockwork.domain.storage.rows import row_of
from clockwork.flows.outages import tolerated
from clockwork.flows.world import World

log = logging.getLogger(__name__)

#: Executions read at once, about as many as one answer of the table holds.
PAGE = 1_000
#: A job's records are read back to the oldest that may still be retried under its retry policy. An older execution runs
#: only if it was fired again (a backfill, a redrive, a fire that was caught up with). So many pages are read for these:
#: a month's records of a job that fires every four minutes.
OLDER_PAGES = 10
#: A call reads so many pages at the most, and begins none after this time (ms): an api Lambda has 29 s for its answer,
#: and has to end what it finds.
MOST_PAGES = 40
READS_FOR_MS = 10_000


class Unended(msgspec.Struct, frozen=True):
    """The executions that have not ended, as far as their records were read.

    `all_seen`: this call and those before it have read all of them. `mark_at`: so they have those that are due after
    this instant (ms), and none of these runs, but for the newest, which each call reads. None: they got no further.
    `marks`: how many marks there are.
    """

    found: Sequence[Execution]
    all_seen: bool
    mark_at: int | None = None
    marks: int = 0


def unended(world: World, job: NamedJob, *, is_repeat: bool) -> Unended:
    """Read a job's records, the newest first. `is_repeat`: the same call was made before, and may have left a mark."""
    now = world.clock.now()
    oldest_at = now - int(job.definition.retry_policy.max_age_seconds * 1000)
    found: list[Execution] = []
    before: str | None = None
    mark_at: int | None = None
    older_pages, marks, is_clean = 0, 0, True
    for number in range(MOST_PAGES):
        page = world.executions.list(job.job_id, PAGE, before)
        found += [one for one in page if not one.is_final]
        if len(page) < PAGE:
            return Unended(found, all_seen=True)
        before = page[-1].execution_id
        older_pages += page[-1].due_at < oldest_at
        is_clean = is_clean and (number == 0 or all(one.state is not State.RUNNING for one in page))
        mark_at = page[-1].due_at if is_clean else mark_at
        if number == 0 and is_repeat:
            marked_at, marks = _furthest(world, job)
            if marked_at is not None and marked_at < page[-1].due_at:
                before, mark_at = _behind(job, marked_at), None
        if older_pages >= OLDER_PAGES or world.clock.now() >= now + READS_FOR_MS:
            break
    return Unended(found, all_seen=False, mark_at=mark_at, marks=marks)


def mark(world: World, job: NamedJob, seen: Unended) -> None:
    """Mark for a repeat how far the records were read. Call this once those were ended that are to end."""
    if seen.mark_at is None:
        return
    reached = Pointer(job.client_id, job.job_key, job.series, Fire(seen.mark_at, seen.mark_at, 0))
    row = row_of(job.partition_id, _key(job, seen.marks + 1), [reached], world.row_expires_at(world.clock.now()))
    # Without a mark the repeat reads the same records again.
    with tolerated(world, log, "not marked: %s", {"action": "listing_not_marked", "jobId": job.job_id}):
        world.timeline.put_new([row])


def _furthest(world: World, job: NamedJob) -> tuple[int | None, int]:
    """The due instant that the last mark names, and how many marks there are."""
    marked_at, marks = None, 0
    while (row := world.timeline.find([(job.partition_id, _key(job, marks + 1))])[0]) is not None:
        (element,) = decode_row(row.blob).values()
        assert isinstance(element, Pointer)
        marked_at, marks = element.fire.due_at, marks + 1
    return marked_at, marks


def _behind(job: NamedJob, at: int) -> str:
    """A key that sorts behind all executions of the job that are due at this instant: these are read again."""
    return f"{job.job_id}.{at:013d}.~"


def _key(job: NamedJob, number: int) -> str:
    # It lies before every cursor, so no poller reads it.
    return keys.row_key(0, ids.derive("seen", job.job_id, job.revision, number))
