"""Mutants of ordered jobs: each leaves out a step that keeps them in order."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

ORDERING = (
    Mutant(
        "jobs of one instant do not sort by their sequence",
        "domain/ordering.py",
        (('return row_id if sequence is None else f"{sequence:016d}-{row_id}"', "return row_id"),),
        "I11",
    ),
    Mutant(
        "an ordered shard is read ahead of time",
        "flows/poll/ordered_shard.py",
        (
            (
                "visit = begin_visit(world, partition_id, deadline_at, 0) if is_free",
                "visit = begin_visit(world, partition_id, deadline_at, 240_000) if is_free",
            ),
        ),
        "I11",
    ),
    Mutant(
        "each job of a key is in a group of its own",
        "domain/ordering.py",
        (
            (
                'return ids.derive("group", occurrence.client_id, occurrence.ordering_key or "")',
                'return ids.derive("group", occurrence.payload.body.hex())',
            ),
        ),
        "I11",
    ),
    Mutant(
        "what is behind a head that waits is delivered",
        "flows/deliver/ordered.py",
        (
            (
                "                _come_back(batch, waiting, groups.pop(group))\n                continue\n",
                "                _come_back(batch, waiting, [head])\n",
            ),
        ),
        "I11",
    ),
    Mutant(
        "a head that waits is sent anew",
        "flows/deliver/waiting.py",
        (
            (
                "        self._wait(item, release.run_at)\n",
                "        self._world.releases.send([release], self._world.clock.now())\n",
            ),
        ),
        "I11",
    ),
    Mutant(
        "behind what was refused the rest of its key is sent",
        "domain/messages/turns.py",
        (("            if not refusal.permanent:\n", "            if False:\n"),),
        "I11",
    ),
    Mutant(
        "a head is attempted as if nothing were recorded of it",
        "flows/deliver/ordered.py",
        (("                item.release = resumed(item.release, item.seen, now)\n", ""),),
        "L1",
        scene="ordered",
    ),
)
