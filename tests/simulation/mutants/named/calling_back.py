"""Mutants of callbacks of DEAD jobs: each leaves out a step that must stay."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

CALLING_BACK = (
    Mutant(
        "a copy that comes weeks after a death calls back once more",
        "domain/storage/retention.py",
        (("return now <= dead_at + self.messages_ms + SPARE_MS", "return True"),),
        "I4",
        tests="tests/unit/flows/test_call_back.py",
    ),
    Mutant(
        "no callback for a death that somebody else recorded",
        "flows/deliver/batch.py",
        (
            (
                "        self.report.absorbed += 1\n        self.owe(item, stored)",
                "        self.report.absorbed += 1",
            ),
        ),
        "I1",
    ),
    Mutant(
        "a message is let go though its callback is not certain",
        "flows/deliver/deliver.py",
        (
            (
                'batch.fail(batch.ended[one.index][0], f"what follows from its end is not certain: {one.reason}")',
                "pass",
            ),
        ),
        "I1",
    ),
    Mutant(
        "a callback is another job each time it is placed",
        "domain/lifecycle/callbacks.py",
        (('ids.derive("callback", dead.execution_id)', 'ids.derive("callback", dead.execution_id, expires_at)'),),
        "I1",
    ),
    Mutant(
        "a death of a duplicate at level none is not called back",
        "flows/deliver/outcome.py",
        (("        batch.owe(item, saved.actual)\n", ""),),
        "I1",
        tests="tests/unit/flows/test_call_back_faults.py",
    ),
)
