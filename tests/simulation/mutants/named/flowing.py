"""Mutants of workflows: each leaves out a rule of the protocol of runs. The invariants are those of W1 to W9."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_RUNS = "tests/unit/flows/workflows"
_RECORDS = "tests/unit/domain/runs"

FLOWING = (
    Mutant(
        "a node is decided once one of its parents has ended",
        "domain/workflows/graph.py",
        (
            (
                "    if None in marks:\n        return None\n    has_failed",
                '    if not marks or set(marks) == {None}:\n        return None if marks else "run"\n    has_failed',
            ),
        ),
        "W1",
        tests="tests/model/test_runs.py",
    ),
    Mutant(
        "each release of a node is an execution of its own",
        "domain/runs/nodes.py",
        (("        due_at=run.due_at,\n", "        due_at=now,\n"),),
        "W2",
        tests=f"{_RUNS}/test_runs.py",
    ),
    Mutant(
        "a stop marks nodes that still run",
        "flows/workflows/wind_down.py",
        (
            (
                "            found[sets.number(index)] = mark_of(after)\n        elif",
                "            found[sets.number(index)] = mark_of(after)\n        elif after.state is State.RUNNING:\n"
                '            found[sets.number(index)] = "bad"\n        elif',
            ),
        ),
        "W3",
        tests="tests/model/test_runs.py",
    ),
    Mutant(
        "the sets are kept until the run ends, and no longer",
        "domain/runs/beginning.py",
        (
            (
                "    expires_at = deadline_of(run) + WINDS_DOWN_MS + kept_ms\n",
                "    expires_at = deadline_of(run) + WINDS_DOWN_MS\n",
            ),
        ),
        "W9",
        tests="tests/model/test_runs.py",
    ),
    Mutant(
        "the message of a node is acknowledged before its outcome is added",
        "flows/deliver/batch.py",
        (
            (
                "if plan.execution.state is State.DEAD or item.release.of.node is not None:",
                "if plan.execution.state is State.DEAD:",
            ),
        ),
        "W7",
        tests=_RUNS,
    ),
    Mutant(
        "a node does not look at the sets of its run",
        "flows/workflows/look.py",
        (("    if sets.is_stopped:\n        return STOPPED\n", ""),),
        "W5",
        tests=f"{_RUNS}/test_late_processes.py",
    ),
    Mutant(
        "a node starts though its run has gone on without it",
        "flows/workflows/look.py",
        (("return ENDED if sets.has(number) or not sets.is_current(number) else None", "return None"),),
        "W8",
        tests=f"{_RUNS}/test_late_processes.py",
    ),
    Mutant(
        "a cancel is noted in the record of the run alone",
        "flows/requests/cancel.py",
        (("    running = late.stop(world, [run])\n", "    running: list[Execution] = []\n"),),
        "W5",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "a stopped run ends at once",
        "flows/workflows/advance.py",
        (("        if step.is_over:\n", "        if step.is_over or sets.is_stopped:\n"),),
        "W4",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "a process that finds a noted cancel does not stop the run",
        "flows/workflows/advance.py",
        (("if not sets.is_stopped and self._note_unwanted(run):", "if False:"),),
        "W5",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "nodes are decided against in the generation of now",
        "flows/workflows/advance.py",
        (
            (
                "self._add(Marks(off=sets.numbers(step.off)))",
                "self._add(Marks(off=(self._world.runs.get([sets.run_id])[0] or sets).numbers(step.off)))",
            ),
        ),
        "W8",
        tests=f"{_RUNS}/test_late_processes.py",
    ),
    Mutant(
        "a run does not go on from the answer of its own addition",
        "flows/workflows/advance.py",
        (
            (
                "self._sets = add(self._world, self._sets.run_id, marks)",
                "self._sets = add(self._world, self._sets.run_id, marks) and None",
            ),
        ),
        "W7",
        tests=_RUNS,
    ),
    Mutant(
        "a redrive runs what failed under its old ids",
        "domain/workflows/progress.py",
        (("bytes(generation if index in again else old for", "bytes(old for"),),
        "W8",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "a redrive runs what failed, and not what comes after it",
        "domain/workflows/progress.py",
        (("again = behind(before.nodes, roots)", "again = frozenset(roots)"),),
        "W8",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "a run ends by the sets of another generation",
        "domain/runs/endings.py",
        ((" or stored.attempt != sets.generation:\n        return Ending()", ":\n        return Ending()"),),
        "W6",
        tests=_RECORDS,
    ),
    Mutant(
        "a stopped run succeeds though an optional node was cancelled",
        "domain/workflows/graph.py",
        (("(marks if is_stopped else counted(graph, marks)).values()", "counted(graph, marks).values()"),),
        "W6",
        tests="tests/unit/domain/workflows",
    ),
    Mutant(
        "a message of a run does not go on with what has begun",
        "domain/lifecycle/attempts.py",
        (("Action.GO_ON if release.attempt == stored.attempt else Action.ABSORB", "Action.ABSORB"),),
        "W7",
        tests=_RUNS,
    ),
    Mutant(
        "a run begins under a claim that is not ours",
        "domain/runs/beginning.py",
        (("    if stored.claimant != claimed.claimant:\n        return Beginning(is_lost=True)\n", ""),),
        "I4",
        tests=_RECORDS,
    ),
    Mutant(
        "a run begins though a cancel is noted",
        "domain/runs/beginning.py",
        (("    if stored.cancel_noted_at is not None:\n", "    if False:\n"),),
        "I5",
        tests=_RECORDS,
    ),
    Mutant(
        "a stopped run waits for nodes that have no record",
        "flows/workflows/wind_down.py",
        (('            found[sets.number(index)] = "bad"\n            continue\n', "            continue\n"),),
        "W7",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "a node at work does not hear that its run was stopped",
        "flows/workflows/wind_down.py",
        (
            (
                "after = record if record.is_final else _cancelled(world, record)",
                "after = record if record.is_final or record.state is State.RUNNING else _cancelled(world, record)",
            ),
        ),
        "W4",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "a run is not watched",
        "flows/workflows/start.py",
        (("send_retries(world, [watch_of_run(run, world.clock.now())])", "send_retries(world, [])"),),
        "W7",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "the watch of a run begins what was redriven, without nodes",
        "domain/lifecycle/attempts.py",
        (("if waits and not isinstance(watch.occurrence.target, WorkflowTarget):", "if waits:"),),
        "W7",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "what follows is decided by an earlier read",
        "flows/workflows/ends.py",
        (
            (
                "        sets = add(world, run_id, marks)\n",
                "        (before,) = world.runs.get([run_id])\n"
                "        sets = add(world, run_id, marks)\n"
                "        if isinstance(before, Sets):\n"
                "            sets = Sets(**{**{n: getattr(before, n) for n in before.__struct_fields__}, "
                '"marks": before.marks | marks})\n',
            ),
        ),
        "W7",
        tests=f"{_RUNS}/test_late_processes.py",
    ),
)
