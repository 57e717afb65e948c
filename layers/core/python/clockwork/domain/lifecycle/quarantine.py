"""The quarantine of a shard: what its cursor has passed although nothing came of it yet.

A row of the quarantine names a row of the shard, or one execution of it. It holds only keys that Clockwork has made and
digests of ids: nothing of what was refused or could not be read. Its key is derived, so a repeat is the same row. It
begins with a *group*, so that what belongs together lies together: the rows of a client, or one row whose client
nobody knows.
"""

from __future__ import annotations

import re

import msgspec

from clockwork.domain import ids
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.timeline import NEVER

#: A group that has lain in the quarantine for so long (ms) is tried at every second tick, and so on up to every STEPS
#: ticks.
STEP_MS = 600_000
STEPS = 15
#: A row that nobody could read or answer for is recorded as DEAD in the last part of its row's life, one of so many.
PARTS = 12
#: A row of the quarantine outlives the row that it names by so long (ms), so that one that has expired is noticed.
OUTLIVES_MS = 24 * 3_600_000
#: The letters of groups: of a client's rows that hold its order up, of other rows of a client, and of one row alone.
HOLDING, PASSED, ALONE = "h", "c", "r"
_FIRE = re.compile(r"([0-9]{1,19})\.([0-9]{1,9})\.([0-9]{13})(?:\.(b[A-Za-z0-9_-]{1,63}))?")


class Untold(msgspec.Struct, frozen=True):
    """The work that a poller passes although nothing tells of it: an execution of the row at `key`, or all of the row.

    `client_id`: whose it is; None if nobody can tell. `revision`: of the named job's row from which its release was
    made. `holds`: in an ordered shard nothing of its client may pass it.
    """

    key: str
    why_not: str
    execution_id: str | None = None
    revision: int | None = None
    client_id: str | None = None
    holds: bool = False

    @property
    def group(self) -> str:
        """The group of its row in the quarantine."""
        return group_of(self.client_id, self.key, holds=self.holds)


class QuarantinedFire(msgspec.Struct, frozen=True, order=True):
    """A fire of a named job in the quarantine, with the revision of the job's row that released it.

    `run`: the last part of its executionId. That of a backfilled fire is the backfill's.
    """

    incarnation: int
    revision: int
    due_at: int
    run: str = ids.ONLY_RUN

    def is_of(self, job: NamedJob) -> bool:
        """Whether the job is alive, and still the one whose fire this was."""
        return job.is_alive and job.incarnation == self.incarnation


def quarantine_of(partition_id: str) -> str:
    """The partition of the timeline that holds the quarantine of a shard. No shard has such a partitionId."""
    return f"quarantine/{partition_id}"


def group_of(client_id: str | None, key: str, *, holds: bool) -> str:
    """The group of a row in the quarantine. Without a client each row is a group of its own."""
    if client_id is None:
        return ALONE + ids.derive("row", key)
    return (HOLDING if holds else PASSED) + ids.derive("client", client_id)


def group_in(key: str) -> str:
    """The group in the key of a row in the quarantine."""
    return key.partition("/")[0]


def key_of(untold: Untold) -> str:
    """The key of its row in the quarantine: those of a group lie in the order of the shard."""
    return f"{untold.group}/{untold.key}/{_tag(untold)}"


def key_of_row(row_key: str) -> str:
    """The key of a row in the quarantine for all of a row, alone: whatever it holds, this can be told."""
    return f"{group_of(None, row_key, holds=False)}/{row_key}/"


def kept_in(key: str) -> tuple[str, str]:
    """The parts of a key in the quarantine: the key of the shard's row, and a tag, or "" for the whole."""
    _, row_key, tag = key.split("/", 2)
    return row_key, tag


def is_tried(group: str, since: int, now: int, tick_ms: int) -> bool:
    """Whether a group whose first row lies there since then (ms) is tried in the tick of `now` (ms).

    It depends on these alone, so that nothing has to be written at each try.
    """
    step = min(STEPS, 1 + max(0, now - since) // STEP_MS)
    return now // tick_ms % step == ids.spread(step, "quarantine", group)


def is_at_end(expires_at: int, now: int, kept_ms: int) -> bool:
    """Whether a row is about to expire, so that what it holds has to end visibly now. `kept_ms`: how long rows live."""
    return expires_at != NEVER and now >= expires_at - kept_ms // PARTS


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


def fire_in(tag: str) -> QuarantinedFire | None:
    """The fire of a named job that a tag tells; None if it is the tag of something else."""
    one = _FIRE.fullmatch(tag)
    return None if one is None else QuarantinedFire(int(one[1]), int(one[2]), int(one[3]), one[4] or ids.ONLY_RUN)


def _tag(untold: Untold) -> str:
    return "" if untold.execution_id is None else tag_of(untold.execution_id, untold.revision)
