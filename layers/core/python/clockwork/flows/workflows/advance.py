"""Advance a run: what follows from the newest answer of its sets, until nothing is left to do.

Each turn decides purely, by an answer of the sets, and then does one thing. It adds the marks of nodes that are decided
against, winds a stopped run down, ends a run of which all nodes have ended, or releases nodes. A turn that has added
marks goes on from the answer of its own addition.

How it fails. The process dies behind any write: the next one finds the marks in the sets, and decides the same. That
may be the message that brought it here, the caller that repeats, or the watch of the run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence

from clockwork.domain.clients import ClientUnreadable, disowns
from clockwork.domain.errors import Unavailable
from clockwork.domain.executions import Execution, State
from clockwork.domain.ids import decode_execution
from clockwork.domain.lifecycle.awaiting import release_of
from clockwork.domain.lifecycle.cancels import cancel_record, plan_cancel
from clockwork.domain.runs.beginning import is_run, occurrence_of, watch_at
from clockwork.domain.runs.endings import Ending, plan_ending
from clockwork.domain.workflows.graph import Step, step_of
from clockwork.domain.workflows.progress import Marks, Sets
from clockwork.flows.deaths import call_back, notify_dead
from clockwork.flows.records import replace
from clockwork.flows.timeline.retries import send_retries
from clockwork.flows.workflows.nodes import release, unmet
from clockwork.flows.workflows.wind_down import wind_down
from clockwork.flows.world import World

log = logging.getLogger(__name__)


class Advance:
    """One call that goes on with a run. `buries`: the process may tell a client of a death, as the api may not."""

    def __init__(self, world: World, sets: Sets, run: Execution | None = None, *, buries: bool = True) -> None:
        self._world = world
        self._sets: Sets | None = sets
        self._run = run
        self._buries = buries
        #: The nodes that this call has released, by number.
        self._released: set[int] = set()
        #: The executionIds of nodes that this call has stopped: the end of their grace is watched.
        self._watched: set[str] = set()
        #: The nodes that still run in a run that was stopped, as they were last read.
        self.running: Sequence[Execution] = ()
        #: Conditional nodes by number, once their conditions were asked: whether these hold.
        self._asked: dict[int, bool] = {}

    def go(self, after: Collection[int] | None, among: Collection[int] | None = None) -> None:
        """Go on. `after`: the nodes whose ends release others; None: all. `among`: only these are released, if given.

        Raises Unavailable: the caller may repeat.
        """
        while (sets := self._sets) is not None:
            unmet_now = {index for index in range(sets.nodes.size) if self._asked.get(sets.number(index)) is False}
            step = step_of(sets.nodes, sets.outcomes(), None if sets.is_stopped else after, unmet_now)
            if step.off:
                self._add(Marks(off=sets.numbers(step.off)))
            elif not self._turn(sets, step, among):
                return

    def _turn(self, sets: Sets, step: Step, among: Collection[int] | None) -> bool:
        """One thing that follows from a step; whether there may be more to do."""
        if not step.is_over and not step.ready:
            return False
        run = self._current(sets)
        if run is None:
            return False
        if step.is_over:
            end(self._world, run, lambda stored: plan_ending(stored, sets, self._world.clock.now()), self._buries)
            return False
        if not sets.is_stopped and self._note_unwanted(run):
            self._sets = self._world.runs.stop(sets.run_id, run.attempt)
            return True
        open_ = [i for i in step.ready if sets.nodes.conditional[i] and sets.number(i) not in self._asked]
        if open_:
            refused = unmet(self._world, run, sets, open_)
            self._asked |= {sets.number(index): index not in refused for index in open_}
            return True
        if sets.is_stopped:
            marks, self.running = wind_down(self._world, run, sets, step.ready, self._watched)
        else:
            marks = self._release(run, sets, [one for one in step.ready if among is None or one in among])
        if marks is not None:
            self._add(marks)
        return marks is not None

    def _release(self, run: Execution, sets: Sets, wanted: Sequence[int]) -> Marks | None:
        new = [index for index in wanted if sets.number(index) not in self._released]
        marks = release(self._world, run, sets, new) if new else None
        self._released |= sets.numbers(new)
        return marks

    def _add(self, marks: Marks) -> None:
        assert self._sets is not None
        self._sets = add(self._world, self._sets.run_id, marks)

    def _current(self, sets: Sets) -> Execution | None:
        """The run, if it is at work in the generation of the sets; what is left to do once it is dead is done here."""
        if self._run is None or self._run.attempt != sets.generation:
            job_id = decode_execution(sets.execution_id).job_id
            self._run = self._world.executions.find(job_id, sets.execution_id)
        run = self._run
        if run is not None and run.attempt == sets.generation and is_run(run):
            return run
        if run is not None and run.state is State.DEAD:
            _call_back(self._world, run, self._buries)
        return None

    def _note_unwanted(self, run: Execution) -> bool:
        """Note a cancel on a run whose client was deleted; True if the run is not wanted any more."""
        if run.cancel_noted_at is None and not _is_disowned(self._world, run):
            return False
        now = self._world.clock.now()
        cancelled = cancel_record(
            run.job_id, run.execution_id, run.client_id, run.due_at, run.expires_at, now, run.created_at
        )
        _, self._run = replace(self._world, run, lambda stored: plan_cancel(stored, cancelled))
        return True


def add(world: World, run_id: str, marks: Marks) -> Sets | None:
    """The sets of a run once marks are added. None: they are gone, which is logged, and the run's watch ends it."""
    sets = world.runs.add(run_id, marks)
    if sets is None:
        log.error("a run has no sets", extra={"action": "run_unknown", "runId": run_id})
    return sets


def end(world: World, run: Execution, plan: Callable[[Execution | None], Ending], buries: bool) -> None:
    """End a run as planned, tell of its death, and place its callback. Raises Unavailable.

    A process that may not tell sends the run's watch in place of a death.
    """
    planned = plan(run)
    if planned.execution is not None and planned.execution.state is State.DEAD and not buries:
        for why_not in send_retries(world, [watch_at(run, world.clock.now())]).values():
            raise Unavailable(why_not)
        return
    planned, stored = replace(world, run, plan)
    if stored is None or stored.state is not State.DEAD:
        return
    if planned.execution is not None:
        notify_dead(world, [stored])
    _call_back(world, stored, buries)


def _call_back(world: World, dead: Execution, buries: bool) -> None:
    """Place the callback of a run that was found DEAD. Raises Unavailable if it may not come."""
    if not buries or dead.kept.occurrence is None:
        return
    for refused in call_back(world, [(release_of(dead), dead)]):
        if not refused.permanent:
            raise Unavailable(f"its callback is not certain: {refused.reason}")


def _is_disowned(world: World, run: Execution) -> bool:
    """Whether the client of a run was deleted. A cached client may be older than one that has the id anew."""
    created_at = occurrence_of(run)[0].created_at
    try:
        if not disowns(world.clients.get(run.client_id), created_at):
            return False
        return disowns(world.clients.get(run.client_id, fresh=True), created_at)
    except ClientUnreadable:
        return False
