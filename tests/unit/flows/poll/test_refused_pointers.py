"""A chain whose next pointer is refused by a defect ends with its own row: the rows behind it are read all the same."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clockwork.domain.executions import State
from clockwork.domain.named_jobs import Pointer
from clockwork.domain.storage import codec
from clockwork.domain.storage.rows import row_of_job
from clockwork.domain.timeline import Row
from clockwork.flows.poll.shard import poll_shard
from tests.support.examples import NOW, occurrence
from tests.support.named import Named


@pytest.mark.parametrize("refuses", [True, False], ids=["refused", "put"])
def test_what_lies_behind_a_chain_that_goes_on_is_released_though_its_pointer_is_refused(
    refuses: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = Named(every_ms=1_000)
    clockwork, shard = named.clockwork, named.job.partition_id
    # The chain has more fires up to the horizon than one expansion yields, so its row cuts the portion.
    world = clockwork.world.with_(settings=clockwork.settings.with_(commit_occurrences=5))
    clockwork.clock.advance(60_000)
    due = [occurrence(due_at=clockwork.clock.at + 30_000 + n, record="none") for n in range(3)]
    clockwork.timeline.put([row_of_job(shard, f"{n:022d}", one, NOW * 2) for n, one in enumerate(due)])
    put_new = clockwork.timeline.put_new

    def refusing(rows: Sequence[Row]) -> None:
        if refuses and any(isinstance(one, Pointer) for row in rows for one in codec.decode_row(row.blob).values()):
            raise ValueError("a defect of this pointer")
        put_new(rows)

    monkeypatch.setattr(clockwork.timeline, "put_new", refusing)
    assert poll_shard(world, shard, clockwork.clock.at + 60_000).outcome == "dry"
    sent = [codec.decode_message(one.body)[0] for one in clockwork.queue.messages.values()]
    assert len([one for one in sent if one.revision is None]) == 3
    dead = [(one.state, one.reason) for one in clockwork.executions.all() if one.kept.raw]
    reason = "its row is given up: its next pointer is refused: internal fault: ValueError"
    assert dead == [(State.DEAD, reason)] * refuses
