"""The executions of a job that have not ended, by its records: read newest first, a bounded number of them a call.

A job may have a million records that are young enough to be retried, more than a call can read in its time. A call
therefore reads so many, and marks how far it came. A repeat of the call reads the newest once more and goes on behind
the mark.

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
#: only if it was fired again (a backfill, a redrive, a fire that was caught up with). For these at most so many pages
#: are read: a month's records of a job that fires every four minutes.
OLDER_PAGES = 10
#: A call reads so many pages at the most, and begins none after this time (ms): an api Lambda has 29 s for its answer,
#: and has to end what it finds.
MOST_PAGES = 40
READS_FOR_MS = 10_000


class Unended(msgspec.Struct, frozen=True):
    """The executions that have not ended, as far as their records were read.

    `all_seen`: this call and those before it have read all of them. `mark_at`: so they have those that are due after
    this instant (ms), and none of these runs, but for the newest, which each call reads. None: they got no further.
    `newest_to`: the newest reach down to this instant (ms). `marks`: how many marks there are. `is_whole`: this call
    alone has read all of them.
    """

    found: Sequence[Execution]
    all_seen: bool
    mark_at: int | None = None
    newest_to: int = 0
    marks: int = 0
    is_whole: bool = False


class _Mark(msgspec.Struct, frozen=True):
    """How far the calls before came, see `Unended`; and how many marks there are."""

    newest_to: int
    mark_at: int
    count: int


def unended(world: World, job: NamedJob, *, is_repeat: bool) -> Unended:
    """Read a job's records, the newest first. `is_repeat`: the same call was made before, and may have left a mark."""
    now = world.clock.now()
    oldest_at = now - int(job.definition.retry_policy.max_age_seconds * 1000)
    found: list[Execution] = []
    last: _Mark | None = None
    before: str | None = None
    mark_at: int | None = None
    older_pages, newest_to, is_newest, is_clean = 0, 0, True, True
    for number in range(MOST_PAGES):
        page = world.executions.list(job.job_id, PAGE, before)
        found += [one for one in page if not one.is_final]
        if len(page) < PAGE:
            return Unended(found, all_seen=True, is_whole=last is None)
        before, lowest_at = page[-1].execution_id, page[-1].due_at
        older_pages += lowest_at < oldest_at
        if number == 0:
            last = _last_mark(world, job) if is_repeat else None
            # What was among the newest in the first call is among them still, however many have come since.
            newest_to = lowest_at if last is None else last.newest_to
        if not is_newest:
            is_clean = is_clean and all(one.state is not State.RUNNING for one in page)
            mark_at = lowest_at if is_clean else mark_at
        elif lowest_at <= newest_to:
            is_newest = False
            if last is None:
                mark_at = lowest_at
            elif last.mark_at < lowest_at:
                before = _behind(job, last.mark_at)
        if older_pages >= OLDER_PAGES or world.clock.now() >= now + READS_FOR_MS:
            break
    return Unended(found, False, mark_at, newest_to, 0 if last is None else last.count)


def mark(world: World, job: NamedJob, seen: Unended) -> None:
    """Mark for a repeat how far the records were read. Call this once those were ended that are to end."""
    if seen.mark_at is None:
        return
    reached = Pointer(job.client_id, job.job_key, job.series, Fire(seen.newest_to, seen.mark_at, 0))
    row = row_of(job.partition_id, _key(job, seen.marks + 1), [reached], world.row_expires_at(world.clock.now()))
    # Without a mark the repeat reads the same records again.
    with tolerated(world, log, "not marked: %s", {"action": "listing_not_marked", "jobId": job.job_id}):
        world.timeline.put_new([row])


def _last_mark(world: World, job: NamedJob) -> _Mark | None:
    last, count = None, 0
    while (row := world.timeline.find([(job.partition_id, _key(job, count + 1))])[0]) is not None:
        (element,) = decode_row(row.blob).values()
        assert isinstance(element, Pointer)
        count += 1
        last = _Mark(element.fire.base_at, element.fire.due_at, count)
    return last


def _behind(job: NamedJob, at: int) -> str:
    """A key that sorts behind all executions of the job that are due at this instant: these are read again."""
    return f"{job.job_id}.{at:013d}.~"


def _key(job: NamedJob, number: int) -> str:
    # It lies before every cursor, so no poller reads it.
    return keys.row_key(0, ids.derive("seen", job.job_id, job.revision, number))
