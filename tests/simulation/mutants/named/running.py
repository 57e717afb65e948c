"""Mutants of runs that begin, are stopped, or are redriven: shortcuts that the protocol of runs was checked against."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_RUNS = "tests/unit/flows/workflows"
_WALK = "tests/model/test_runs.py"

RUNNING = (
    Mutant(
        "the end of a node that is found recorded is absorbed",
        "flows/deliver/batch.py",
        (
            (
                "        self.report.absorbed += 1\n        self.owe(item, stored)\n",
                "        self.report.absorbed += 1\n        if item.release.of.node is None:\n"
                "            self.owe(item, stored)\n",
            ),
        ),
        "W7",
        tests=f"{_RUNS}/test_deaths_of_processes.py",
    ),
    Mutant(
        "an outcome is added before its record is saved",
        "flows/deliver/outcome.py",
        (
            (
                "    again = []\n    for index, saved in batch.save_plans(plans):\n",
                "    again = []\n    from clockwork.flows.workflows.follow import follow_ends\n\n"
                "    follow_ends(batch.world, [(item.release, plan.execution) for item, plan in plans])\n"
                "    for index, saved in batch.save_plans(plans):\n",
            ),
        ),
        "W1",
        tests=_WALK,
    ),
    Mutant(
        "a run goes on only from an outcome that is new",
        "flows/workflows/ends.py",
        (
            (
                "        sets = add(world, run_id, marks)\n",
                "        (before,) = world.runs.get([run_id])\n        sets = add(world, run_id, marks)\n",
            ),
            (
                "    if sets is None:\n        return\n    after",
                "    is_known = isinstance(before, Sets) and sets is not None and before.marks == sets.marks\n"
                "    if sets is None or is_known:\n        return\n    after",
            ),
        ),
        "W7",
        tests=f"{_RUNS}/test_deaths_of_processes.py",
    ),
    Mutant(
        "a node goes by sets that were seen before its claim",
        "flows/workflows/look.py",
        (
            (
                "    found = sets_apart(world, [node.run_id for node in nodes])\n",
                '    seen = world.environment.__dict__.setdefault("sets", {})\n'
                "    found = {**sets_apart(world, [node.run_id for node in nodes]), **seen}\n"
                "    seen |= found\n",
            ),
        ),
        "W5",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "a run that the sweep gives up on ends beside its nodes",
        "flows/sweep/dead_letters.py",
        (
            (
                "        if late.stop(world, [stored]) and world",
                "        if late.stop(world, [stored]) and not world",
            ),
        ),
        "W6",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "a cancel lists what runs before it stops the sets",
        "flows/workflows/cancel.py",
        (
            (
                "        advance = Advance(",
                "        from clockwork.flows.workflows.nodes import records_of\n\n"
                "        (before,) = world.runs.get([run_of(run.execution_id)])\n"
                "        every = range(before.nodes.size) if isinstance(before, Sets) else ()\n"
                "        found = records_of(world, run, before, every).values() if every else ()\n"
                "        advance = Advance(",
            ),
            (
                "        running += advance.running\n",
                "        running += [one for one in found if one is not None and not one.is_final]\n",
            ),
        ),
        "W5",
        tests=f"{_RUNS}/test_late_processes.py",
    ),
    Mutant(
        "the message of a run is acknowledged whatever became of its begin",
        "flows/deliver/deliver.py",
        (
            (
                "    for run in batch.runs:\n        with batch.failing(run):\n",
                "    from contextlib import suppress\n\n"
                "    for run in batch.runs:\n        with suppress(Exception):\n",
            ),
        ),
        "W7",
        tests=f"{_RUNS}/test_deaths_of_processes.py",
    ),
    Mutant(
        "the first nodes are released before the sets are there",
        "flows/workflows/start.py",
        (
            (
                "            if world.runs.put_new(first):\n",
                "            Advance(world, first, run).go(None)\n            if world.runs.put_new(first):\n",
            ),
        ),
        "W1",
        tests=f"{_RUNS}/test_deaths_of_processes.py",
    ),
    Mutant(
        "sets that are there are put anew",
        "memory/executions.py",
        (
            (
                "        return self.stored.setdefault(sets.run_id, sets) is sets\n",
                "        self.stored[sets.run_id] = sets\n        return True\n",
            ),
        ),
        "W5",
        tests=f"{_RUNS}/test_late_processes.py",
    ),
    Mutant(
        "a run that is at work is redriven",
        "domain/lifecycle/redrives.py",
        (
            ("    if stored.state is State.RUNNING and is_begun_run(stored):\n", "    if False:\n"),
            (
                "    if not (waits_redriven(stored) or stored.state is State.DEAD):\n",
                "    is_at_work = stored.state is State.RUNNING and is_begun_run(stored)\n"
                "    if not (waits_redriven(stored) or stored.state is State.DEAD or is_at_work):\n",
            ),
        ),
        "W8",
        tests="tests/handlers/test_runs_api.py",
    ),
    Mutant(
        "a redrive takes the stop back",
        "memory/executions.py",
        (
            (
                "replace(stored, **fields, marks=",
                "replace(stored, **fields, stop=0, marks=",
            ),
        ),
        "W5",
        tests=f"{_RUNS}/test_late_processes.py",
    ),
    Mutant(
        "a run is stopped before the cancel is noted in its record",
        "flows/requests/cancel.py",
        (
            (
                "    plan, stored = replace(world, stored, lambda met: plan_cancel(met, cancelled))\n",
                "    if is_run(stored):\n        late.stop(world, [stored])\n"
                "    plan, stored = replace(world, stored, lambda met: plan_cancel(met, cancelled))\n",
            ),
        ),
        "W5",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "a redrive leaves what was not reached",
        "domain/workflows/progress.py",
        (
            (
                "    again = behind(before.nodes, roots)\n",
                "    reached = {index for index, mark in before.outcomes().items() if mark != 'off'}\n"
                "    again = behind(before.nodes, roots) & reached\n",
            ),
        ),
        "W8",
        tests=f"{_RUNS}/test_stops.py",
    ),
    Mutant(
        "a redrive keeps the marks of generations that nodes have left",
        "domain/workflows/progress.py",
        (("(frozenset(filter(now.is_current, some)) for", "(some for"),),
        "W3",
        tests="tests/unit/domain/workflows/test_progress.py",
    ),
)
