"""Timeline rows of requests, made by Clockwork's own code: how many jobs share a row, and its billed units."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

from clockwork.domain import keys
from clockwork.domain.jobs import Occurrence
from clockwork.domain.requests.packing import Outline, groups_of
from clockwork.domain.storage.rows import row_of_job, row_of_many
from clockwork.targets.http import HttpTarget
from clockwork.targets.message import Payload

#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/on-demand-capacity-mode.html
WRITE_UNIT_BYTES = 1_024
READ_UNIT_BYTES = 4_096
PAYLOAD_BYTES = 200
#: Size of the attributes' names and of the time to live.
FRAME_BYTES = 60
_AT = 1_700_000_000_000
_SAID = b'{"target":{"type":"http","url":"https://example.com/hook"}}'


class RowKind(NamedTuple):
    """A row of so many jobs, and its size."""

    jobs: int
    size: int

    @property
    def write_units(self) -> int:
        """The write units that AWS bills for its put."""
        return math.ceil(self.size / WRITE_UNIT_BYTES)

    @property
    def read_units(self) -> float:
        """Its share of the read units of a strong query."""
        return self.size / READ_UNIT_BYTES


@cache
def rows_of_request(jobs: int) -> tuple[RowKind, ...]:
    """The rows of a request of so many like jobs with 200 bytes of payload that fall into one minute."""
    outlines = [Outline(index, _AT, 0, PAYLOAD_BYTES, _SAID) for index in range(jobs)]
    sizes = [len(group.indexes) for group in groups_of(outlines, _AT)]
    return tuple(row_kind(size) for size in [*sizes, *[1] * (jobs - sum(sizes))])


@cache
def row_kind(jobs: int) -> RowKind:
    """A row of so many jobs, whose size comes from encoding one."""
    occurrence = Occurrence(
        client_id="acme",
        due_at=_AT,
        created_at=_AT,
        target=HttpTarget(url="https://example.com/hook"),
        payload=Payload(b"x" * PAYLOAD_BYTES),
    )
    key = keys.row_key(_AT, "x" * 22)
    if jobs > 1:
        row = row_of_many("p000", key, dict.fromkeys(range(jobs), occurrence), _AT)
    else:
        row = row_of_job("p000", "x" * 22, occurrence, _AT)
    return RowKind(jobs, len(row.blob) + len(row.key) + len(row.partition_id) + FRAME_BYTES)


class TimelineRow(NamedTuple):
    """One row: its due instant and its kind."""

    due_at: int
    kind: RowKind
