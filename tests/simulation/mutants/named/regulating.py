"""Caps, pauses, circuits, parked work and what comes too late: what may not be left out of it."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

REGULATING = (
    Mutant(
        "permits are not asked for",
        "flows/permit.py",
        (("if not is_slow and (client is None or client.max_concurrency is None):", "if True:"),),
        "I8",
    ),
    Mutant(
        "a block of permits has two holders",
        "memory/regulation.py",
        (("if owner != holder and ends_at >= now:", "if False:"),),
        "I8",
    ),
    Mutant(
        "more is started than a block has permits",
        "flows/permit.py",
        (("list(items[: blocks.size])", "list(items)"),),
        "I8",
    ),
    Mutant(
        "a rate cap takes no slots",
        "flows/admit.py",
        (("if client is None or client.max_rate_per_second is None:", "if True:"),),
        "I8",
    ),
    Mutant(
        "a slot is taken and not waited for",
        "flows/admit.py",
        (("run_at=slot_at, paced=True", "paced=True"),),
        "I8",
    ),
    Mutant(
        "a paused client's work is delivered",
        "flows/admit.py",
        (("if client is not None and client.paused:", "if False:"),),
        "I8",
    ),
    Mutant(
        "what is parked is acknowledged before it has a row",
        "flows/park.py",
        (("    world.timeline.put_new(rows)\n", ""),),
        "I1",
    ),
    Mutant(
        "nobody notes that something is parked",
        "flows/park.py",
        (("    world.regulation.note_parked(client_id, now)\n", ""),),
        "L1",
    ),
    Mutant(
        "the note of parked work is forgotten though some of it stays",
        "flows/let_go.py",
        (
            (
                "    elif empty_at is not None and empty_at > parked.noted_at + NOTED_MS + LONGEST_PARKING_MS:\n",
                "    else:\n",
            ),
        ),
        "L1",
    ),
    Mutant(
        "rows of parked work are forgotten though their release was refused",
        "flows/let_go.py",
        (("    if refused:\n", "    if not releases:\n"),),
        "I1",
    ),
    Mutant(
        "an open circuit is never probed",
        "domain/circuits.py",
        (("if now < circuit.probe_at and not (has_slot and circuit.waits):", "if True:"),),
        "L1",
    ),
    Mutant(
        "what comes too late is delivered all the same",
        "domain/relevancy.py",
        (("return until is not None and at > until", "return False"),),
        "I3",
    ),
    Mutant(
        "what comes too late at a poller leaves no record",
        "flows/expire.py",
        (
            ("saves = world.executions.save([", "saves = list(["),
            ("for release, saved in zip(late, saves, strict=True) if saved.ok}", "for release in late if saves}"),
        ),
        "I12",
    ),
    Mutant(
        "what is discarded ends without a record",
        "flows/let_go.py",
        (("            changes.append((stored, after))\n", "            pass\n"),),
        "I12",
    ),
    Mutant(
        "what is redriven is not released",
        "flows/dead.py",
        (("    if rows:\n", "    if not rows:\n"),),
        "L1",
    ),
)
