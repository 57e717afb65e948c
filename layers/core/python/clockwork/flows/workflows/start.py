"""Start a run, or go on with one: begin, put its sets, open the generation of a redrive, release its first nodes.

How it fails. The deliverer dies before the run has begun: its message comes back, and the attempt counts as a lost
worker's; no node has started under it. It dies behind that: the message finds the run begun under its own attempt, and
goes on from the sets. Nodes that are released twice are absorbed by their claims.
"""

from __future__ import annotations

from clockwork.domain.errors import Unavailable, Undecodable, readable
from clockwork.domain.executions import Execution
from clockwork.domain.ids import run_of
from clockwork.domain.releases import Deliver, Release, Watch
from clockwork.domain.runs.beginning import is_run, occurrence_of, plan_begin, sets_of, watch_of_run
from clockwork.domain.workflows.graph import roots_of
from clockwork.domain.workflows.progress import Sets, opened
from clockwork.flows.records import replace, replans
from clockwork.flows.timeline.retries import send_retries
from clockwork.flows.workflows.advance import Advance
from clockwork.flows.workflows.nodes import keep_results
from clockwork.flows.workflows.watching import watch
from clockwork.flows.world import World


def carry_on(world: World, release: Release, seen: Execution) -> None:
    """Begin the run of a release that is claimed, or go on with one that has begun. Raises Unavailable.

    `seen`: its record, with our claim or with that of the run.
    """
    run = seen
    if not is_run(seen):
        assert isinstance(release, Deliver), "only what asks for an attempt is claimed"
        begun, stored = replace(world, seen, lambda stored: plan_begin(release, seen, stored, world.clock.now()))
        if begun.is_lost:
            raise Unavailable("our claim had ended")
        if stored is None or not is_run(stored):
            return
        run = stored
    if isinstance(release, Watch):
        watch(world, release, run)
    else:
        sets = _sets_of(world, run)
        if sets is not None:
            Advance(world, sets, run).go(None)
    for why_not in send_retries(world, [watch_of_run(run, world.clock.now())]).values():
        raise Unavailable(f"a run would not be watched: {why_not}")


def _sets_of(world: World, run: Execution) -> Sets | None:
    """The sets of a run in the generation of its attempt. They are put, and the generation is opened, if need be.

    Sets that cannot be read are put anew: nodes that have a record are absorbed, and their ends are told once more.
    """
    run_id, kept_ms = run_of(run.execution_id), world.execution_kept_ms(occurrence_of(run)[0].retention_days)
    first = sets_of(run, kept_ms)
    for _ in replans("the progress of its run"):
        found = world.runs.get([run_id])[0]
        if found is None or isinstance(found, Undecodable):
            if world.runs.put_new(first):
                return first
            continue
        sets = readable(found)
        if sets.generation >= run.attempt:
            return sets
        names = list(occurrence_of(run)[1].nodes)
        again = [names.index(name) for name in occurrence_of(run)[1].again if name in names]
        roots = roots_of(sets.nodes, sets.outcomes(), again)
        after = opened(sets, run.attempt, roots, first.expires_at)
        keep_results(world, run, after, kept_ms)
        now_open = world.runs.open(sets, after)
        if now_open is not None and now_open.generation >= run.attempt:
            return now_open
    return None
