"""Owed work: what a poller had to pass although it could be neither released, nor recorded, nor set aside.

The row of the shard names it, in the same write that moves the cursor past it, and each further visit reads it again.
Only keys are written, which Clockwork has made: nothing of what was refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import msgspec

from clockwork.domain import ids, keys

#: It is tried again until so long after the instant of its row (ms). To try for ever would cost work at every visit.
TRIED_FOR_MS = 3_600_000
#: So much is owed in a shard at the most: about 4 KB, which its poller writes with each commit.
MOST_OWED = 50
#: The work of a timeline row by the row's key: the tags of its executions, or None for all that the row holds.
Owed = Mapping[str, frozenset[str] | None]
_FIRE = re.compile(r"([0-9]{1,19})\.([0-9]{1,9})\.([0-9]{13})(?:\.(b[A-Za-z0-9_-]{1,63}))?")


class Untold(msgspec.Struct, frozen=True):
    """What a poller passes although nothing tells of it: an execution of the row at `key`, or all of it if it is None.

    `revision`: of the named job's row from which its release was made.
    """

    key: str
    why_not: str
    execution_id: str | None = None
    revision: int | None = None


class OwedFire(msgspec.Struct, frozen=True, order=True):
    """A fire of a named job that is owed, with the revision of the job's row that released it.

    `run`: the last part of its executionId. That of a backfilled fire is the backfill's.
    """

    incarnation: int
    revision: int
    due_at: int
    run: str = ids.ONLY_RUN


def tag_of(execution_id: str, revision: int | None = None) -> str:
    """The tag of an execution of a row. That of a fire tells all that its release is made of again.

    Its job may be paused or have another timing by then, and its row does not name each fire. A fire is one of a named
    job's schedule or of a backfill.
    """
    parts = ids.decode_execution(execution_id)
    is_fire = parts.run == ids.ONLY_RUN or parts.run.startswith("b")
    if revision is None or not is_fire:
        return ids.derive("owed", execution_id)
    job_ref = ids.decode_job(parts.job_id)
    assert isinstance(job_ref, ids.NamedJobId), "only the release of a named job has a revision"
    run = "" if parts.run == ids.ONLY_RUN else f".{parts.run}"
    return f"{job_ref.incarnation}.{revision}.{parts.due_at:013d}{run}"


def fires_in(tags: Iterable[str]) -> list[OwedFire]:
    """The fires of named jobs among the tags, in order."""
    matches = [match for match in map(_FIRE.fullmatch, tags) if match is not None]
    return sorted(OwedFire(int(one[1]), int(one[2]), int(one[3]), one[4] or ids.ONLY_RUN) for one in matches)


def with_owed(owed: str, untold: Untold, now: int) -> str | None:
    """What is owed (a shard's field) with one more.

    None: the row's instant is too long ago at `now` (ms), or too much is owed already.
    """
    reference = untold.key
    if untold.execution_id is not None:
        reference += f"/{tag_of(untold.execution_id, untold.revision)}"
    references = owed.split()
    if reference in references:
        return owed
    if len(references) >= MOST_OWED or now >= keys.instant_of(untold.key) + TRIED_FOR_MS:
        return None
    return " ".join((*references, reference))


def rows_owed(owed: str) -> Owed:
    """What is owed, row by row."""
    rows: dict[str, frozenset[str] | None] = {}
    for reference in owed.split():
        key, _, tag = reference.partition("/")
        tags = rows.get(key, frozenset())
        rows[key] = None if not tag or tags is None else tags | {tag}
    return rows


def owed_of(rows: Owed) -> str:
    """The shard's field for what is owed."""
    return " ".join(_references(rows))


def _references(rows: Owed) -> Iterable[str]:
    for key, tags in rows.items():
        yield from (key,) if tags is None else (f"{key}/{tag}" for tag in sorted(tags))
