"""Mutants of operations on many: each leaves out a step that must stay."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_FAULTS = "tests/unit/flows/operations/test_faults.py"
_PROGRESS = "tests/unit/flows/operations/test_progress.py"
_DECISIONS = "domain/requests/operations.py"

OPERATING = (
    Mutant(
        "a sweep calls without the lease of an operation",
        "flows/operations/turn.py",
        (
            (
                "    if not world.operations.save(stored, mine):\n        return None\n",
                "    world.operations.save(stored, mine)\n",
            ),
        ),
        "I6",
        tests=_FAULTS,
    ),
    Mutant(
        "a live lease of an operation is ignored",
        "flows/operations/turn.py",
        (("    if stored.is_taken(now):\n        return None\n", ""),),
        "I6",
        tests=_FAULTS,
    ),
    Mutant(
        "a sweep writes a result whose lease another one took",
        "flows/operations/turn.py",
        (("if stored is None or readable(stored).lease != mine.lease:", "if stored is None:"),),
        "I6",
        tests=_FAULTS,
    ),
    Mutant(
        "a call that died counts as certain",
        _DECISIONS,
        (
            (
                "uncertain=before.uncertain + bool(before.lease))\n\n\ndef worked",
                "uncertain=before.uncertain)\n\n\ndef worked",
            ),
        ),
        "I12",
        tests=_FAULTS,
    ),
    Mutant(
        "a stop of a call that died is forgotten",
        "flows/operations/turn.py",
        (("    if stored.stage is Stage.STOPPING:\n", "    if False:\n"),),
        "I5",
        tests=_FAULTS,
    ),
    Mutant(
        "a stop takes the lease of the call under way",
        _DECISIONS,
        (("    if before.is_taken(now):\n", "    if False:\n"),),
        "I5",
        tests=_FAULTS,
    ),
    Mutant(
        "a call that failed moves the cursor on",
        _DECISIONS,
        (("        failures=before.failures + 1,\n", '        failures=before.failures + 1,\n        cursor="9",\n'),),
        "I1",
        tests=_FAULTS,
    ),
    Mutant(
        "a call that failed is repeated at once",
        _DECISIONS,
        (("next_at=now + wait_ms,", "next_at=now,"),),
        "I9",
        tests=_FAULTS,
    ),
    Mutant(
        "turns go to whichever client comes first",
        "flows/operations/sweep.py",
        (("line = min(ready, key=lambda one: one.used_ms)", "line = min(ready, key=lambda one: one.client_id)"),),
        "I9",
        tests=_FAULTS,
    ),
    Mutant(
        "a sweep drops an operation whose record is about to come",
        "flows/operations/turn.py",
        (
            (
                "opened_at + world.settings.api_timeout_seconds * 1000 + SPARE_MS:",
                "opened_at:",
            ),
        ),
        "I12",
        tests=_FAULTS,
    ),
    Mutant(
        "a slow sweep drops an operation that was put into the list once more",
        "flows/operations/turn.py",
        (("close(world, client_id, [operation_id], opened_at)", "close(world, client_id, [operation_id])"),),
        "I12",
        tests=_FAULTS,
    ),
    Mutant(
        "the operations of a deleted client go on",
        "flows/operations/turn.py",
        (("client is None or client.deleting_at is not None or client.since_at != stored.since_at", "client is None"),),
        "I5",
        tests=_FAULTS,
    ),
    Mutant(
        "the next client with an id finds the operations of the last one",
        "flows/operations/begin.py",
        (("if stored is None or readable(stored).since_at != client.since_at:", "if stored is None:"),),
        "I9",
        tests=_PROGRESS,
    ),
    Mutant(
        "an operation chases what dies after its request",
        "flows/operations/begin.py",
        (("return msgspec.structs.replace(asked.meant, to_at=now)", "return asked.meant"),),
        "L1",
        tests=_PROGRESS,
    ),
    Mutant(
        "an operation means jobs that are made behind its request",
        "flows/operations/work.py",
        (("job.is_alive and job.created_at <= operation.made_at", "job.is_alive"),),
        "L1",
        tests=_PROGRESS,
    ),
    Mutant(
        "a redrive of many is not counted in the client's day",
        "flows/operations/work.py",
        (("    if most is None or not count:\n", "    if True:\n"),),
        "I8",
        tests=_PROGRESS,
    ),
    Mutant(
        "a redrive of many is as fast as it asks to be",
        "flows/operations/work.py",
        (("own = client.creates_per_second if makes else None", "own = None"),),
        "I8",
        tests=_PROGRESS,
    ),
    Mutant(
        "a redriven release that the queue refuses waits nowhere",
        "flows/requests/redrive.py",
        (("    if waiting:\n        put_off(world, waiting)\n", ""),),
        "L1",
        tests=_FAULTS,
    ),
    Mutant(
        "an operation that nobody can read takes a place for a month",
        "flows/operations/begin.py",
        (
            (
                "    return not isinstance(world.operations.find(client_id, operation_id), Unreadable)\n",
                "    return True\n",
            ),
        ),
        "I9",
        tests=_FAULTS,
    ),
)
