"""Mutants of named jobs: each cuts the tie of a fire to its definition, or of a chain to its next fire."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_ADVANCED = "released=advance_past_horizon(world, job, first_pointer(job)))"
_OWN = "own = (job.state, job.version, job.partition_id)"
_POINTER_FIRST = """    if pointer is not None:
        put_pointer(world, after, pointer)
    return world.jobs.save(before, after)
"""
_WINNER = "        winner = get_by_key(world, request.client.client_id, request.job_key)\n"

NAMING = (
    Mutant(
        "a changed job is not looked at before it starts",
        "flows/deliver/start.py",
        (("            if isinstance(job_ref, NamedJobId):\n", "            if False:\n"),),
        "I7",
    ),
    Mutant(
        "what a change replaced starts all the same",
        "flows/deliver/start.py",
        (("changed = release.version not in (None, job.version)", "changed = False"),),
        "I7",
    ),
    Mutant(
        "a version is a counter, not a digest",
        "domain/named_jobs.py",
        (("version=digest[:22])", 'version=f"v{job.revision}")'),),
        "I7",
    ),
    Mutant(
        "a pointer counts under whatever version",
        "domain/named_jobs.py",
        ((_OWN, "own = (job.state, self.version, job.partition_id)"),),
        "I7",
    ),
    Mutant(
        "a change does not look for what is under way",
        "flows/named/write.py",
        (("running, unseen = may_still_start(world, stored, job.version)", "running, unseen = (), False"),),
        "I7",
    ),
    Mutant(
        "who lost the condition is told that the job is made",
        "flows/named/write.py",
        (
            (
                "    if not _write(world, stored, job):\n" + _WINNER,
                "    if not _write(world, stored, job) and False:\n" + _WINNER,
            ),
        ),
        "I7",
    ),
    Mutant(
        "the chain is not settled after the row is written",
        "flows/named/write.py",
        ((_ADVANCED, "released=())"),),
        "I1",
    ),
    Mutant(
        "the API stops before its pointer is beyond the horizon",
        "flows/named/advance.py",
        (("        pointer = step.following\n", "        pointer = None\n"),),
        "I1",
    ),
    Mutant(
        "a poller puts no next pointer",
        "flows/poll/release.py",
        (
            (
                "        refused = put_each(world.timeline, world.environment.faults, [row for _, row in following])\n",
                "        refused: dict[int, str] = {}\n",
            ),
        ),
        "I1",
    ),
    Mutant(
        "a chain that goes on within the range is not read again",
        "flows/poll/release.py",
        (('return "goes_on" if done[-1].goes_on else None', "return None"),),
        "I1",
    ),
    Mutant(
        "what of a schedule is skipped leaves no record",
        "flows/poll/expand.py",
        (("    if step.skipped is not None:\n", "    if False:\n"),),
        "I12",
    ),
)
