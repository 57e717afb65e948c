"""Bound the claims of one call by the size of its answer. Other tickets stay, and the worker claims them again.

The sizes are taken before the claim, since a claim without an answer uses up an attempt. A named job may get a larger
payload afterwards, before the look. If it does not fit any more, its claim stands, and the worker that repeats its
claimId gets it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from clockwork.domain.executions import State
from clockwork.domain.jobs import Occurrence
from clockwork.domain.lifecycle.tokens import claimant_of
from clockwork.domain.pools.answers import ANY_CHECKPOINT, BESIDES, answered_bytes, fitting, text_bytes
from clockwork.domain.pools.checkpoint import Checkpoint
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.items import Item

TOO_MUCH = "the answer has no room for it beside the others: ask again"


def claimed_within(batch: Batch, running: Sequence[Item], waiting: Sequence[Item]) -> tuple[list[Item], list[Item]]:
    """The items that one answer can hold, whatever their checkpoints are. The others are left.

    `running` go first: the worker that asks again for a claim has it already.
    """
    kept, used = _within(batch, running, _foreseen, 0)
    return kept, _within(batch, waiting, _foreseen, used)[0]


def started_within(batch: Batch, items: Sequence[Item], checkpoints: Mapping[int, Checkpoint | None]) -> list[Item]:
    """The claimed items that one answer can hold, each with its checkpoint (by identity). The others are left."""
    return _within(batch, items, partial(_known, checkpoints), 0)[0]


def _within(batch: Batch, items: Sequence[Item], size_of: Callable[[Item], int], used: int) -> tuple[list[Item], int]:
    """The items that fit, and how many bytes are used with them."""
    sized = batch.each(items, size_of)
    places = fitting([size for _, size in sized], used)
    for place, (item, _) in enumerate(sized):
        if place not in places:
            batch.fail(item, TOO_MUCH)
    return [sized[place][0] for place in places], used + sum(sized[place][1] for place in places)


def _foreseen(item: Item) -> int:
    """The most bytes that an item may take, as far as it is known before the claim; none if another claim has it."""
    seen, occurrence = item.seen, item.whole or item.release.occurrence
    if seen is not None and seen.state is State.RUNNING:
        if item.secret is None or seen.claimant != claimant_of(item.secret):
            return 0
        occurrence = seen.kept.occurrence or occurrence
    return _bytes_of(occurrence) + (ANY_CHECKPOINT if item.release.attempt > 1 else 0)


def _known(checkpoints: Mapping[int, Checkpoint | None], item: Item) -> int:
    checkpoint = checkpoints[id(item)]
    return _bytes_of(item.release.occurrence) + (text_bytes(checkpoint.value.decode()) if checkpoint else 0)


def _bytes_of(occurrence: Occurrence) -> int:
    return BESIDES + answered_bytes(occurrence.payload)
