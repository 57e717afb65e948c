"""Mutants of `overlap: skip`: each lets an execution begin beside another one of its job, or holds one up for ever."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_LOOKS = "tests/unit/flows/test_overlaps.py"
_OF_NOW = "    first = stile.ended_before if stile is not None and is_of_now else"

SKIPPING = (
    Mutant(
        "what began before its job became overlap: skip is not looked for",
        "domain/named/overlaps.py",
        ((_OF_NOW + ' ""\n', _OF_NOW + " execution_id\n"),),
        "I7",
        scene="skipping",
    ),
    Mutant(
        "a turnstile of before the job became overlap: skip counts",
        "domain/named/overlaps.py",
        (("    is_of_now = stile is not None and stile.skips_from == job.skips_from\n", "    is_of_now = True\n"),),
        "I7",
        scene="skipping",
    ),
    Mutant(
        "a change to overlap: skip leaves no trace in the row",
        "domain/named/changes.py",
        (("skips_from=after.revision, skips_from_at=boundary_at", ""),),
        "I7",
        scene="skipping",
    ),
    Mutant(
        "how far back all have ended is told past what waits",
        "flows/overlaps.py",
        (
            (
                "    stays = (one.execution_id for one in found if _is_under_way(one, now, is_ordered=is_ordered))\n",
                "    stays = (one.execution_id for one in found if is_claimed(one, now))\n",
            ),
        ),
        "I7",
        scene="skipping",
    ),
    Mutant(
        "only the first ten records are read",
        "flows/overlaps.py",
        (("    if more and not is_met:\n", "    more = False\n    if more and not is_met:\n"),),
        "I4",
        tests=_LOOKS,
    ),
    Mutant(
        "what waits for others holds others back",
        "flows/overlaps.py",
        ((" and not is_ordered and not waits_for_others(other)\n", " and not is_ordered\n"),),
        "I4",
        tests=_LOOKS,
    ),
    Mutant(
        "what is not known is let through",
        "flows/overlaps.py",
        ((" else NOT_KNOWN if more else None\n", " else None\n"),),
        "I4",
        tests=_LOOKS,
    ),
    Mutant(
        "a look that read much keeps nothing",
        "flows/overlaps.py",
        (("    if seen.is_long:\n", "    if False:\n"),),
        "I4",
        tests=_LOOKS,
    ),
    Mutant(
        "what runs and is due later is in nobody's way",
        "flows/overlaps.py",
        (
            (
                "    return other.execution_id < execution_id or is_claimed(other, now)\n",
                "    return other.execution_id < execution_id\n",
            ),
        ),
        "I4",
        tests=_LOOKS,
    ),
)
