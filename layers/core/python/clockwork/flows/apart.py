"""Reads of items of many clients: if one is refused, each partition is asked for itself, and what is out waits alone.

A table throttles by partition: the named jobs of a client are one, and so are the records of a job. One read of several
that gets no answer tells nothing of the other partitions in it, whose items belong to other clients. Where all goes
well, such a read is one call as before.

How it fails. If the whole table is out, each partition costs one more call that ends without an answer: so the asking
ends after ASKED_FOR_MS, and whoever was not asked by then waits, too. A caller gets the Unavailable of an item in the
place of its value, and decides about this item alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from clockwork.domain.errors import Unavailable, Unreadable
from clockwork.domain.executions import Execution
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.workflows.progress import Sets
from clockwork.flows.world import World

T = TypeVar("T")
#: The partition of an item, and its key there.
Ref = tuple[str, str]
Jobs = Mapping[Ref, NamedJob | Unreadable | Unavailable | None]

#: For so long (ms) partitions are asked one by one after a read of several was refused. An invocation has to end in
#: time although a table is out, and one call may take a dozen seconds then.
ASKED_FOR_MS = 3_000


def jobs_apart(world: World, job_refs: Iterable[Ref]) -> Jobs:
    """The named jobs at (client_id, job_key), tombstones included; an Unavailable for each that gave no answer."""
    return _answers(world, world.jobs.get, sorted(set(job_refs)))


def records_apart(world: World, execution_refs: Sequence[Ref]) -> list[Execution | Unreadable | Unavailable | None]:
    """The records at (job_id, execution_id), in this order; an Unavailable for each that gave no answer."""
    told = _answers(world, world.executions.get, list(dict.fromkeys(execution_refs)))
    return [told[ref] for ref in execution_refs]


def sets_apart(world: World, run_ids: Sequence[str]) -> Mapping[str, Sets | Unreadable | Unavailable | None]:
    """The sets of each run; an Unavailable for each that gave no answer."""
    told = _answers(
        world, lambda refs: world.runs.get([run_id for run_id, _ in refs]), [(one, "") for one in sorted(set(run_ids))]
    )
    return {run_id: sets for (run_id, _), sets in told.items()}


def _answers(
    world: World, read: Callable[[Sequence[Ref]], Sequence[T]], refs: Sequence[Ref]
) -> dict[Ref, T | Unavailable]:
    """The answers of a read, for all items together. If that read is refused, each partition is read by itself."""
    try:
        return dict(zip(refs, read(refs), strict=True)) if refs else {}
    except Unavailable as error:
        refused: dict[Ref, T | Unavailable] = dict.fromkeys(refs, error)
    partitions: dict[str, list[Ref]] = {}
    for ref in refs:
        partitions.setdefault(ref[0], []).append(ref)
    until = world.clock.now() + ASKED_FOR_MS
    for some in partitions.values() if len(partitions) > 1 else ():
        if world.clock.now() < until:
            refused |= _answers(world, read, some)
    return refused
