"""Mutants of how long things last: each lets a record go too early, or an attempt start too late."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

LASTING = (
    Mutant(
        "a record does not wait for the retry that it tells of",
        "domain/storage/retention.py",
        (
            (
                "after.due_at, *(_last_instants(one) for one in (before, after) if one is not None))",
                "after.due_at)",
            ),
        ),
        "I5",
    ),
    Mutant(
        "the record of what is parked expires",
        "domain/storage/retention.py",
        (("last_at = max(last_at, now + PARKED_MS)", "last_at = now"),),
        "I5",
    ),
    Mutant(
        "a death at level none is forgotten before the retry of a copy comes",
        "domain/storage/retention.py",
        (("if after.budget.unclaimed:", "if False:"),),
        "I5",
        tests="tests/unit/flows/test_lives_of_records.py",
    ),
    Mutant(
        "an attempt starts after its deadline, when its environment is thawed",
        "domain/releases.py",
        (("        if now < self.deadline_at:\n", "        if True:\n"),),
        "I4",
    ),
)
