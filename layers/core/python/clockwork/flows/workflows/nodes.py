"""The nodes of a run in the tables and queues: read records, ask conditions, and release.

How it fails. The process dies behind some of the sends: whoever had the message that brought it here gets it again, and
all of them are sent once more. A payload cannot be built: its node ends DEAD, with the reason, before its run goes on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from clockwork.domain.errors import Unavailable, Undecodable, readable
from clockwork.domain.executions import DAY_MS, Execution, State
from clockwork.domain.releases import Deliver
from clockwork.domain.runs.beginning import STOPS_WITHIN_MS, deadline_of, occurrence_of
from clockwork.domain.runs.nodes import (
    Records,
    context_of,
    mark_of,
    marks_of,
    read_by,
    ref_of,
    release_node,
    watch_of_end,
)
from clockwork.domain.workflows.contexts import Unfilled, all_hold, filled
from clockwork.domain.workflows.graph import Mark
from clockwork.domain.workflows.progress import Marks, Sets
from clockwork.flows.deaths import bury
from clockwork.flows.records import replace_all
from clockwork.flows.timeline.retries import send_retries
from clockwork.flows.world import World
from clockwork.targets.message import Payload


def records_of(world: World, run: Execution, sets: Sets, indexes: Iterable[int]) -> dict[int, Execution | None]:
    """The records of nodes in their generations. Raises Unavailable, and NewerFormat.

    A record that no version wrote counts as none: nobody can go on with it.
    """
    wanted = sorted(indexes)
    refs = [ref_of(run, sets, index) for index in wanted]
    found = world.executions.get(refs) if refs else ()
    return {
        index: None if isinstance(one, Undecodable) else readable(one) for index, one in zip(wanted, found, strict=True)
    }


def keep_results(world: World, run: Execution, sets: Sets, kept_ms: int) -> None:
    """Make sure that the records of nodes that have succeeded live as long as the run may be redriven.

    A redrive keeps these records, and renews the run's own. `kept_ms`: for so long the run is kept behind its end. A
    redrive within a day of the first begin finds that they live long enough. Raises Unavailable, and NewerFormat.
    """
    until = deadline_of(run) + STOPS_WITHIN_MS + kept_ms
    kept = [index for index, mark in sets.outcomes().items() if mark == "ok"]
    records = [one for one in records_of(world, run, sets, kept).values() if one is not None]
    short = [one for one in records if one.state is State.SUCCEEDED and one.expires_at < until]
    # Another deliverer that opens the generation may be first: then its change stands.
    replace_all(world, [(one, one.changed(expires_at=sets.expires_at)) for one in short])


def unmet(world: World, run: Execution, sets: Sets, indexes: Collection[int]) -> frozenset[int]:
    """Those of conditional nodes whose conditions do not hold. Their parents have ended, so nothing changes that."""
    nodes = list(occurrence_of(run)[1].nodes.values())
    records = records_of(world, run, sets, read_by(run, indexes))
    return frozenset(i for i in indexes if not all_hold(nodes[i], context_of(run, sets, records, i)))


def release(world: World, run: Execution, sets: Sets, indexes: Sequence[int]) -> Marks | None:
    """Release nodes; returns the marks of those that ended at once, since no payload could be made; None: none did.

    Raises Unavailable if a release may not come.
    """
    now = world.clock.now()
    records = records_of(world, run, sets, read_by(run, indexes))
    ready: list[Deliver] = []
    ended: dict[int, Mark] = {}
    for index in indexes:
        try:
            ready.append(_release_of(world, run, sets, records, index, now))
        except Unfilled as fault:
            ended[sets.number(index)] = _bury(world, run, sets, index, str(fault), now)
    for why_not in send_retries(world, ready).values():
        raise Unavailable(f"a node is not released: {why_not}")
    return marks_of(ended) if ended else None


def tell_ends(world: World, run: Execution, sets: Sets, ended: Mapping[int, Execution]) -> None:
    """Have a deliverer note that nodes have ended, each by a message of its own. Raises Unavailable.

    The message stays until the sets have the mark and what follows is released: an addition by a process without one
    might be its last step.
    """
    now = world.clock.now()
    watches = [watch_of_end(_unfilled(world, run, sets, index, now), record, now) for index, record in ended.items()]
    for why_not in send_retries(world, watches).values():
        raise Unavailable(f"an end is not told: {why_not}")


def _unfilled(world: World, run: Execution, sets: Sets, index: int, now: int) -> Deliver:
    return release_node(run, sets, index, Payload(b"null"), now, _retention_days(world))


def _release_of(world: World, run: Execution, sets: Sets, records: Records, index: int, now: int) -> Deliver:
    node = list(occurrence_of(run)[1].nodes.values())[index]
    payload = filled(node, context_of(run, sets, records, index))
    return release_node(run, sets, index, payload, now, _retention_days(world))


def _bury(world: World, run: Execution, sets: Sets, index: int, reason: str, now: int) -> Mark:
    """End a node DEAD; its mark. Another process may have ended it alike. Raises Unavailable."""
    made = _unfilled(world, run, sets, index, now)
    dead = bury(world, made, None, reason) or world.executions.find(made.job_id, made.execution_id)
    if dead is None or not dead.is_final:
        raise Unavailable("its end is not recorded")
    return mark_of(dead)


def _retention_days(world: World) -> int:
    return -(-world.settings.execution_retention_seconds * 1000 // DAY_MS)
