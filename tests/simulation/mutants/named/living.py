"""Mutants of the lives of a jobKey: each takes one life for another one, or shows it to somebody else."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_TESTS = "tests/handlers/test_former_lives.py"

LIVING = (
    Mutant(
        "a redrive forgets the incarnation of a deleted job",
        "flows/requests/redrive.py",
        ((" or not job.is_alive or job.incarnation != job_ref.incarnation\n", " or not job.is_alive\n"),),
        "I7",
        tests=_TESTS,
    ),
    Mutant(
        "the former lives of a client that had the id before are shown to the next one",
        "flows/access.py",
        (
            (
                "    if job.incarnation > job_ref.incarnation > since_at:\n",
                "    if job.incarnation > job_ref.incarnation:\n",
            ),
        ),
        "I9",
        tests=_TESTS,
    ),
    Mutant(
        "a former life is changed as its successor",
        "flows/access.py",
        (
            (
                "        raise JobNotFound(job_id)\n    return job\n\n\nclass FormerLife",
                "        return job.successor\n    return job\n\n\nclass FormerLife",
            ),
        ),
        "I7",
        tests=_TESTS,
    ),
)
