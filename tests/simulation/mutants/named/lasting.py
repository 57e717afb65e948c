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
        (
            (
                "    unparked_at = 0 if record.parking.at is None else record.parking.at + PARKED_MS\n",
                "    unparked_at = 0\n",
            ),
        ),
        "I5",
        tests="tests/unit/domain/storage/test_retention.py",
    ),
    Mutant(
        "a pointer that is put late has expired already",
        "flows/world.py",
        (("self.row_expires_at(max(at, self.clock.now()))", "self.row_expires_at(at)"),),
        "I1",
        tests="tests/unit/flows/named/test_long_backlogs.py",
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
