"""Random workflows under random interleavings of the shipped flows, which W1 to W9 have to hold in.

`python -m tests.model.runs [--first N] [--seeds N]`. Deliverers, a canceller and a redrive take turns, one call of a
port at a time, in memory and in virtual time. Between two calls any of them may die. Messages come twice, or are shown
again since their delete failed. Claims end while their holders work.

    W1  a node starts once its parents have ended, by its rule      W5  nothing starts behind the answer to a cancel
    W2  an execution of a node succeeds once                        W6  the end of a run is a function of the outcomes
    W3  a node has one mark in each generation                      W7  every run ends
    W4  a run that has ended starts nothing                         W8  a redrive starts what failed and what follows
    W9  the sets and records of a run are kept as long as its own
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from clockwork.domain.errors import ClockworkError
from clockwork.domain.executions import Execution, Outcome, State
from clockwork.domain.ids import NodeJob, decode_node, is_node, only_execution, run_of
from clockwork.domain.lifecycle.cancels import Verdict
from clockwork.domain.lifecycle.redrives import waits_redriven
from clockwork.domain.releases import Delivery
from clockwork.domain.runs.beginning import is_run, occurrence_of
from clockwork.domain.workflows.definition import Condition, Node, When, WorkflowTarget
from clockwork.domain.workflows.progress import Sets
from clockwork.flows.access import Caller
from clockwork.flows.containment import Faults
from clockwork.flows.deliver.deliver import deliver_batch
from clockwork.flows.deliver.inbox import Message
from clockwork.flows.requests.cancel import cancel_execution
from clockwork.flows.requests.redrive import redrive
from clockwork.flows.world import Environment, World
from clockwork.memory.executions import MemoryRuns
from clockwork.memory.queue import Message as Queued
from clockwork.memory.targets import MemoryTargets
from clockwork.memory.world import MemoryClockwork
from clockwork.settings import Settings
from clockwork.targets.message import Payload
from tests.support.examples import ACME, ALICE, NOW, TARGET, occurrence, release
from tests.support.flowing import ONCE
from tests.support.run_rules import why_not_at_rest, why_not_ended, why_not_kept, why_not_opened, why_not_to_start
from tests.support.turns import Turn

MINE = Caller(ALICE, client_ids=frozenset({"acme"}))
PORTS = ("executions", "runs", "releases", "timeline", "targets", "clients")
TIMEOUT_SECONDS = 1_800
#: A run ends so long (ms) after its time is over, at the latest.
ENDS_WITHIN_MS = TIMEOUT_SECONDS * 1000 + 600_000
#: Without faults it ends within this time (ms), and each fault may cost as much.
SOON_MS = 200_000
MOST_STEPS = 60_000


class Violation(AssertionError):
    """A rule that does not hold."""


class Defects(Faults):
    """The defects that flows contained, which the walk ends with."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Exception] = []

    def add(self, error: Exception) -> None:
        """Keep one."""
        self.found.append(error)


class JudgedRuns(MemoryRuns):
    """The sets of the one run, which tell it when a generation is opened."""

    def __init__(self, runs: Runs) -> None:
        super().__init__()
        self._runs = runs

    def _put(self, sets: Sets) -> Sets:
        before = self.stored[sets.run_id]
        super()._put(sets)
        if before.generation != sets.generation:
            self._runs.opens(before, sets)
        return sets


class Process(NamedTuple):
    """A flow that takes turns. `messages`: those that it deletes at its end. `is_slow`: it hardly ever gets a turn."""

    turn: Turn
    is_slow: bool
    messages: Sequence[Queued] = ()
    failed: list[str] | None = None


def random_nodes(source: random.Random) -> dict[str, Node]:
    """Two to thirteen nodes of all rules, with their parents in any order."""
    size = source.choice((2, 3, 3, 5, 8, 13))
    names = [f"n{index}" for index in range(size)]
    shuffled = source.sample(names, size)
    nodes: dict[str, Node] = {}
    for place, name in enumerate(shuffled):
        after = source.sample(shuffled[:place], min(place, source.choice((0, 1, 1, 2, 3))))
        when: When = source.choice(("succeeded",) * 5 + ("failed", "ended")) if after else "succeeded"
        is_never = bool(after) and source.random() < 0.12
        nodes[name] = Node(
            target=TARGET,
            after=tuple(after),
            when=when,
            optional=source.random() < 0.15,
            conditions=(Condition("/input", is_=("never",)),) if is_never else (),
            payload=b"{}",
            retry_policy=ONCE,
        )
    return {name: nodes[name] for name in names}


class Runs:
    """One run of a random workflow, and the processes that work on it."""

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)
        self.clockwork = MemoryClockwork(Settings.for_local().with_(shards=1), seed=seed)
        self.clockwork.clients.put(ACME)
        self.clockwork.poll_all()
        self.nodes = random_nodes(self.source)
        self.clock = self.clockwork.clock
        self.clock.at = NOW
        target = WorkflowTarget(self.nodes, timeout_seconds=TIMEOUT_SECONDS)
        self.first = release(occurrence=occurrence(target=target, payload=Payload(b'"x"'), retry_policy=ONCE))
        self.execution_id = only_execution(self.first.job_id, NOW)
        self.clockwork.queue.send([self.first] * self.source.choice((1, 1, 2)), NOW)
        self.processes: list[Process] = []
        self.defects = Defects()
        self.clockwork.runs = JudgedRuns(self)
        self.clockwork.world = self.clockwork.world.with_(runs=self.clockwork.runs)
        self.fates: dict[tuple[int, int], bool] = {}
        self.started: list[tuple[int, int]] = []
        self.attempts: set[tuple[str, int]] = set()
        self.listed: set[tuple[str, int]] | None = None
        #: How many generations redrives have opened.
        self.opened = 0
        self.redrives = self.source.choice((0, 0, 1, 2))
        #: How often a process died, was slow, or a message was shown twice; each may cost a visibility.
        self.struck = 0
        #: For how long messages were shown late (ms).
        self.late_ms = 0
        latest = 60 + 25 * len(self.nodes)
        cancels = self.source.choice((0, 0, 0, 1, 1, 3))
        #: The steps at which a client asks for a cancel, the first one last.
        self.cancels_at = sorted((self.source.randrange(5, latest) for _ in range(cancels)), reverse=True)
        self.over_at = self.source.randrange(20, latest) if self.source.random() < 0.2 else None
        self.faults = self.source.choice((0.0, 0.0, 0.01, 0.05))
        self.slowness = self.source.choice((0.0, 0.0, 0.2))
        self.ends: list[tuple[State, int]] = []
        self.began_at: int = NOW
        self.broken: str | None = None
        #: The generations of which all nodes had ended before they were stopped, if they were.
        self.whole: set[int] = set()

    # ---- what the run looks like

    @property
    def record(self) -> Execution | None:
        return self.clockwork.executions.find(self.first.job_id, self.execution_id)

    @property
    def sets(self) -> Sets | None:
        return self.clockwork.runs.stored.get(run_of(self.execution_id))

    def record_of(self, sets: Sets | None, index: int) -> Execution | None:
        assert sets is not None
        found = [
            one
            for one in self.clockwork.executions.all()
            if is_node(one.job_id)
            and (decode_node(one.job_id).index, decode_node(one.job_id).generation) == (index, sets.generations[index])
        ]
        return found[0] if found else None

    # ---- the processes

    def world(self) -> World:
        targets = MemoryTargets(self.clock, self.answer)
        return self.clockwork.world.with_(targets=targets, environment=Environment(name="one", faults=self.defects))

    def deliverer(self) -> None:
        messages = self.clockwork.queue.receive(self.source.choice((1, 1, 2, 3)))
        if not messages:
            return
        failed: list[str] = []

        def work(world: World) -> None:
            asked = [Message(one.message_id, one.body, one.receive_count) for one in messages]
            deadline_at = world.clock.now() + world.settings.deliverer_timeout_seconds * 1000
            failed.extend(deliver_batch(world, asked, deadline_at).failed_messages)

        self.processes.append(Process(Turn(work, self.world(), PORTS), self.is_slow(), messages, failed))

    def is_slow(self) -> bool:
        is_slow = self.source.random() < self.slowness
        self.struck += is_slow
        return is_slow

    def canceller(self) -> None:
        def work(world: World) -> None:
            answer, _ = cancel_execution(world, MINE, self.execution_id)
            if answer.verdict is not Verdict.TOO_LATE:
                listed = {(one.execution_id, one.attempt) for one in answer.executions}
                self.listed = listed if self.listed is None else self.listed & listed

        self.processes.append(Process(Turn(work, self.world(), PORTS), self.is_slow()))

    def redriver(self) -> None:
        """One client, or two at once with other nodes in mind, who redrive what the record says then."""
        self.began_at = self.clock.at
        for _ in range(self.source.choice((1, 1, 2))):
            named = tuple(self.source.sample(list(self.nodes), 1)) if self.source.random() < 0.3 else ()

            def work(world: World, named: tuple[str, ...] = named) -> None:
                assert self.record is not None
                redrive(world, self.record, again=named)

            self.processes.append(Process(Turn(work, self.world(), PORTS), self.is_slow()))

    def answer(self, delivery: Delivery) -> Outcome:
        """The outcome of an attempt, whose start is judged."""
        node = decode_node(delivery.job_id)
        # The flow would contain it: the walk ends with it.
        self.broken = self.broken or self.why_not_to_start(delivery, node)
        self.started.append((node.index, node.generation))
        self.attempts.add((delivery.execution_id, delivery.attempt))
        chance = 0.2 if node.generation == 1 else 0.1
        succeeds = self.fates.setdefault((node.index, node.generation), self.source.random() >= chance)
        now = self.clock.at
        return Outcome(State.SUCCEEDED if succeeds else State.FAILED, now, now, error=None if succeeds else "no")

    # ---- what has to hold

    def why_not_to_start(self, delivery: Delivery, node: NodeJob) -> str | None:
        """The rule that the start of a node breaks; None if it breaks none."""
        sets = self.sets
        objection = why_not_to_start(sets, self.record, node, partial(self.record_of, sets))
        if objection is not None:
            return objection
        if self.listed is not None and (delivery.execution_id, delivery.attempt) not in self.listed:
            return "W5: a node starts behind the answer to a cancel"
        return None

    def opens(self, before: Sets, after: Sets) -> None:
        """Judge a generation that a redrive opens."""
        assert self.record is not None
        _, target = occurrence_of(self.record)
        named = [list(self.nodes).index(name) for name in target.again]
        self.broken = self.broken or why_not_opened(before, after, named)
        self.opened += 1

    def judge(self) -> None:
        if self.broken is not None:
            raise Violation(self.broken)
        sets, record = self.sets, self.record
        if sets is not None:
            marks = sets.marks
            if not sets.is_stopped and len(sets.outcomes()) == len(self.nodes):
                self.whole.add(sets.generation)
            if marks.ok & marks.bad or marks.ok & marks.off or marks.bad & marks.off:
                raise Violation("W3: a node has two marks")
        if record is not None and record.is_final and (record.state, record.attempt) not in self.ends:
            self.ends.append((record.state, record.attempt))
            self.judge_end(record)
            if self.clock.at > self.began_at + min(ENDS_WITHIN_MS, SOON_MS * (1 + self.struck)) + self.late_ms:
                raise Violation("W7: the run ended too late")

    def judge_end(self, record: Execution) -> None:
        sets = self.sets
        if sets is None:
            if record.state is not State.CANCELLED:
                raise Violation(f"W6: a run without sets ends {record.state}")
            return
        nodes = [one for one in self.clockwork.executions.all() if is_node(one.job_id)]
        why_not = why_not_at_rest(nodes, lambda *one: one in self.attempts, self.clock.at)
        why_not = why_not or why_not_ended(sets, record, is_whole=sets.generation in self.whole)
        why_not = why_not or why_not_kept(sets, nodes, record)
        if why_not is not None:
            raise Violation(why_not)

    # ---- the walk

    def walk(self) -> None:
        """Walk until nothing is left to do. Raises Violation."""
        for step in range(MOST_STEPS):
            self.judge()
            if self.cancels_at and step >= self.cancels_at[-1] and self.record is not None:
                self.cancels_at.pop()
                self.canceller()
            if self.over_at is not None and step >= self.over_at and is_run(self.record):
                self.over_at = None
                self.struck += 20
                self.clock.advance(TIMEOUT_SECONDS * 1000)
            if not self.move():
                break
        else:
            raise Violation("W7: it goes on for ever")
        record = self.record
        if record is None or not record.is_final:
            raise Violation(f"W7: the run is {record and record.state}")

    def move(self) -> bool:
        """Let one thing happen; False if there is nothing left to happen."""
        draw = self.source.random()
        if self.clockwork.queue.messages and self.source.random() < self.faults / 10:
            # SQS shows a message late.
            late = self.source.choice(list(self.clockwork.queue.messages.values()))
            late.visible_at = self.clock.at + self.source.choice((60_000, 2_500_000))
            self.late_ms += 2_500_000
        has_visible = any(one.visible_at <= self.clock.at for one in self.clockwork.queue.messages.values())
        if has_visible and (not self.processes or (len(self.processes) < 4 and draw < 0.4)):
            self.deliverer()
        elif self.processes:
            if not (draw > 0.97 and self.is_redriven()):
                quick = [one for one in self.processes if not one.is_slow]
                self.step(self.source.choice(quick if quick and draw < 0.9 else self.processes))
        elif self.clockwork.queue.messages:
            self.clock.at = max(self.clock.at, min(one.visible_at for one in self.clockwork.queue.messages.values()))
        else:
            return self.is_redriven()
        return True

    def is_redriven(self) -> bool:
        """Whether a redrive begins, or goes on: what it put on the timeline is released, or else its client repeats."""
        record = self.record
        if record is not None and record.state is State.DEAD and self.redrives:
            self.redrives -= 1
            self.redriver()
            return True
        if record is None or not waits_redriven(record):
            return False
        self.clockwork.poll_all()
        if not self.clockwork.queue.messages and not self.processes:
            self.redriver()
        return bool(self.clockwork.queue.messages or self.processes)

    def step(self, process: Process) -> None:
        draw = self.source.random()
        self.struck += draw < self.faults
        if draw < self.faults / 2:
            process.turn.die()
        elif draw < self.faults:
            self.clock.advance(self.source.choice((1_000, 5_000, 40_000)))
        else:
            process.turn.step()
        if not process.turn.ended:
            return
        if process.turn.fault is not None and not isinstance(process.turn.fault, ClockworkError):
            self.defects.add(process.turn.fault)
        for defect in self.defects.found:
            raise Violation(f"a flow has a defect: {defect!r}") from defect
        self.processes.remove(process)
        has_died = draw < self.faults / 2
        for one in () if has_died else process.messages:
            if one.message_id in (process.failed or ()):
                continue
            if self.source.random() >= self.faults:
                self.clockwork.queue.delete(one.message_id)
            else:
                self.struck += 1
            if self.source.random() < self.faults:
                self.clockwork.queue.put(one.body)


def walk(seed: int) -> Runs:
    """Walk the run of one seed to its end. Raises Violation."""
    runs = Runs(seed)
    try:
        runs.walk()
    finally:
        for process in runs.processes:
            process.turn.die()
    return runs


def main(arguments: Sequence[str] | None = None) -> int:
    """Walk some seeds, and tell each violation; returns 1 if there is one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=200)
    asked = parser.parse_args(arguments)
    logging.disable(logging.CRITICAL)
    nodes = started = ended = violations = 0
    for seed in range(asked.first, asked.first + asked.seeds):
        try:
            runs = walk(seed)
        except Violation as fault:
            violations += 1
            print(f"seed {seed}: {fault}", flush=True)
            continue
        nodes, started, ended = nodes + len(runs.nodes), started + len(runs.started), ended + len(runs.ends)
    totals = f"{nodes} nodes, {started} starts, {ended} ends of generations"
    print(f"{asked.seeds} seeds: {totals}, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
