"""Mutants of what is left of a client that was deleted, and of rows that this build cannot read."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

LEAVING = (
    Mutant(
        "a deleted client is gone though a job of it cannot be read",
        "flows/sweep/deletion.py",
        (
            (
                "if isinstance(job, Unreadable) or not _end(world, job):",
                "if not isinstance(job, Unreadable) and not _end(world, job):",
            ),
        ),
        "I5",
    ),
    Mutant(
        "a list says nothing of a job that cannot be read",
        "flows/requests/read.py",
        (("            self._unreadable.append(job_key)\n", "            pass\n"),),
        "I1",
    ),
    Mutant(
        "the circuits of a deleted client stay open",
        "flows/sweep/deletion.py",
        (("        for host in world.regulation.circuits(client.client_id):\n", "        for host in ():\n"),),
        "I5",
        scene="deleted_behind_circuit",
    ),
    Mutant(
        "somebody is told of a try that no circuit knows of",
        "flows/requests/holding.py",
        (
            (
                "    return None if circuit is None else circuit.probe_at\n",
                "    return None if circuit is None else circuit.probe_at + 1\n",
            ),
        ),
        "I1",
        scene="shut",
    ),
)
