"""Marks: how far the release of a long backlog has come, so that a call that repeats it goes on from there.

A resume with `catchUp: all` may have a day of fires to release, which one call may not live to do. After each round it
puts a mark: a pointer to the next fire, at a key that derives from the job, its series and the number of the round.
The key lies before every cursor, so no poller reads it.
"""

from __future__ import annotations

from clockwork.domain import ids, keys
from clockwork.domain.named_jobs import NamedJob, Pointer
from clockwork.domain.storage.codec import decode_row
from clockwork.domain.storage.rows import row_of
from clockwork.flows.world import World

#: Marks that are looked for in one call.
AT_ONCE = 100


def marked(world: World, job: NamedJob, following: Pointer, rounds: int) -> tuple[Pointer, int]:
    """Mark that everything before `following` has been released, in so many rounds before this one.

    Returns the pointer at which to go on, which is further if another call has come further, and the number of its
    round. Raises Unavailable.
    """
    if rounds == 0:
        pointer, rounds = _furthest(world, job)
        if pointer is not None and pointer.fire.base_at > following.fire.base_at:
            return pointer, rounds
    row = row_of(job.partition_id, _key(job, rounds + 1), [following], world.row_expires_at(world.clock.now()))
    world.timeline.put_new([row])
    return following, rounds + 1


def _furthest(world: World, job: NamedJob) -> tuple[Pointer | None, int]:
    """The last mark, and its number; None and 0 if there is none."""
    last, rounds = None, 0
    while True:
        wanted = range(rounds + 1, rounds + 1 + AT_ONCE)
        found = world.timeline.find([(job.partition_id, _key(job, number)) for number in wanted])
        for number, row in zip(wanted, found, strict=True):
            if row is None:
                return last, rounds
            (element,) = decode_row(row.blob).values()
            assert isinstance(element, Pointer)
            last, rounds = element, number


def _key(job: NamedJob, number: int) -> str:
    return keys.row_key(0, ids.derive("mark", job.job_id, job.series, job.asked_at, number))
