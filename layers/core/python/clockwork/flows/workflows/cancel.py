"""Stop runs that have begun: stop their sets, wind them down, and tell which nodes still run.

A run is stopped once a cancel is noted on its record, or when the sweep of dead letters gives up on it.

How it fails. The process dies behind the note: nothing was answered, and whoever reads the record next finds the note
and stops the sets. It dies behind the stop: whoever ends a node next, a repeat, or the run's watch winds down.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from clockwork.domain.errors import Undecodable
from clockwork.domain.executions import Execution
from clockwork.domain.ids import run_of
from clockwork.domain.runs.beginning import occurrence_of, sets_of
from clockwork.domain.workflows.progress import Sets
from clockwork.flows.records import replans
from clockwork.flows.workflows.advance import Advance
from clockwork.flows.world import World


def stop(world: World, runs: Sequence[Execution]) -> list[Execution]:
    """Stop runs that have begun; returns their nodes that still run.

    A run that was claimed and has not begun finds the note before it begins. Raises Unavailable: the caller may repeat.
    """
    running: list[Execution] = []
    for run in runs:
        advance = Advance(world, _stopped(world, run), run, buries=False)
        advance.go(None)
        running += advance.running
    return running


def _stopped(world: World, run: Execution) -> Sets:
    """The sets of a run as they are once its generation is stopped.

    If it has none yet, or they cannot be read, they are put stopped.
    """
    again = replans("the progress of its run")
    while True:
        with suppress(Undecodable):
            if (sets := world.runs.stop(run_of(run.execution_id), run.attempt)) is not None:
                return sets
        kept_ms = world.execution_kept_ms(occurrence_of(run)[0].retention_days)
        world.runs.put_new(sets_of(run, kept_ms, stop=run.attempt))
        next(again)
