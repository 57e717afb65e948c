"""Mutants of caps, pauses, circuits, parked work and expiry: each leaves out a step that must stay."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_GATES = "tests/unit/flows/deliver/test_slow_gates.py"

REGULATING = (
    Mutant(
        "a repair of a client that cannot be read resumes it",
        "flows/requests/clients.py",
        (
            (
                "return fault.standing, True",
                "return Client(client_id=client_id, revision=fault.standing.revision), True",
            ),
        ),
        "I8",
        tests="tests/contract/test_damaged_clients.py",
    ),
    Mutant(
        "permits are not asked for",
        "flows/deliver/concurrency.py",
        (("    if blocks is None:\n", "    if True:\n"),),
        "I8",
    ),
    Mutant(
        "a block of permits has two holders",
        "memory/regulation.py",
        (("if owner != holder and ends_at >= now:", "if False:"),),
        "I8",
    ),
    Mutant(
        "what gives permits back and arrives late ends the next lease",
        "flows/deliver/concurrency.py",
        (("batch.world.environment.name, batch.deadline_at)", "batch.world.environment.name)"),),
        "I8",
        tests="tests/unit/flows/deliver/test_caps.py",
    ),
    Mutant(
        "more is started than a block has permits",
        "flows/deliver/concurrency.py",
        (("len(items[: blocks.size])", "len(items)"),),
        "I8",
    ),
    Mutant(
        "a rate cap takes no slots",
        "flows/deliver/slots.py",
        (("if client is None or client.max_rate_per_second is None:", "if True:"),),
        "I8",
    ),
    Mutant(
        "a slot is taken and not waited for",
        "flows/deliver/slots.py",
        (("now, at, paced=paced", "now, item.release.run_at, paced=paced"),),
        "I8",
    ),
    Mutant(
        "what is unparked keeps the slot that it had",
        "flows/sweep/unpark.py",
        (("(release.waits, paced=False, permits=0)", "(release.waits, permits=0)"),),
        "I8",
    ),
    Mutant(
        "the instant of a redrive is taken for a slot",
        "domain/ordering.py",
        (("waiting(paced=waits.paced,", "waiting(paced=waits.next_attempt_at is not None,"),),
        "I8",
    ),
    Mutant(
        "slots are reserved as far ahead as one likes",
        "domain/limits/slots.py",
        (
            ("return int(HARD_MS - (HARD_MS - TURN_MS)", "return int(10 * HARD_MS - (HARD_MS - TURN_MS)"),
            ("HARD_MS if until is None else until - now", "10 * HARD_MS if until is None else until - now"),
        ),
        "I8",
    ),
    Mutant(
        "what was cancelled in the line takes a slot",
        "flows/deliver/inform.py",
        (
            (
                "    judged = batch.each(items, lambda item: has_ended_for(item.release, item.seen))\n",
                "    judged = [(item, False) for item in items]\n",
            ),
        ),
        "I8",
    ),
    Mutant(
        "a place is given anew at every return",
        "flows/deliver/slots.py",
        (
            ("if (line := item.release.waits.line) is None or line.place is None]", "]"),
            (" if line.place is None else line.place\n", "\n"),
        ),
        "I8",
    ),
    Mutant(
        "who waits in line comes back after a quarter of an hour",
        "domain/limits/slots.py",
        (
            (
                "        ms = min(rest_ms * OF_THE_REST, (now - since) * OF_THE_WAIT, MOST_BACK_MS)\n",
                "        ms = MOST_BACK_MS\n",
            ),
        ),
        "I8",
    ),
    Mutant(
        "who has just come reaches as far as who stands in the line",
        "domain/limits/slots.py",
        (
            (
                "    if turn_ms > TURN_MS:\n",
                "    if turn_ms == math.inf:\n        return TURN_MS\n    if turn_ms > TURN_MS:\n",
            ),
        ),
        "I8",
    ),
    Mutant(
        "what stands in line has a slot",
        "flows/deliver/slots.py",
        (("line=Line(place, line.since))", "line=Line(place, line.since), paced=True)"),),
        "I8",
    ),
    Mutant(
        "the slots of one reservation are given away again",
        "memory/regulation.py",
        (("self._next_slot_us[client_id] = first_us + round(count * interval_ms * 1000)", "pass"),),
        "I8",
    ),
    Mutant(
        "a retry keeps the slot of the attempt before",
        "domain/lifecycle/awaited.py",
        (
            (
                "    # What another attempt waited for is in its record by now.\n",
                "    else:\n        waits = msgspec.structs.replace(NO_WAITS, paced=again.waits.paced)\n",
            ),
        ),
        "I8",
    ),
    Mutant(
        "a paused client's work is delivered",
        "flows/deliver/admission.py",
        (
            (
                "    if client is not None and client.paused:\n        batch.world.environment",
                "    if False:\n        batch.world.environment",
            ),
        ),
        "I8",
    ),
    Mutant(
        "a circuit never ends",
        "aws/stores/regulation.py",
        ((" if now < circuit.ends_at}\n", "}\n"),),
        "L1",
        tests="tests/contract/test_regulation.py",
    ),
    Mutant(
        "a circuit that is over can never open again",
        "aws/stores/regulation.py",
        (("OR #expiresAt <= :now", "AND :now = :now"),),
        "L1",
        tests="tests/contract/test_regulation.py",
    ),
    Mutant(
        "a client has any number of circuits",
        "flows/deliver/circuits.py",
        (("    going = () if host in circuits else in_excess(circuits.values(), now)\n", "    going = ()\n"),),
        "I9",
        tests="tests/unit/flows/deliver/test_circuits.py",
    ),
    Mutant(
        "a circuit makes room before it may be probed",
        "domain/limits/circuits.py",
        (
            (
                "    return None if any(circuit.probe_at > now for circuit in oldest) else oldest\n",
                "    return oldest\n",
            ),
        ),
        "I9",
        tests="tests/unit/domain/limits/test_circuit_plans.py",
    ),
    Mutant(
        "clients without limits start behind the gates of all others",
        "flows/deliver/admission.py",
        (("        elif len(found) == 1:\n", "        elif found:\n"),),
        "I9",
        tests=_GATES,
    ),
    Mutant(
        "a slow gate goes before the others each time",
        "flows/deliver/admission.py",
        (("        if now < slow_until.get(client_id, 0):\n", "        if False:\n"),),
        "I9",
        tests=_GATES,
    ),
    Mutant(
        "the gates of a batch may take any time",
        "flows/deliver/admission.py",
        (("        if batch.gates_ms > 0 or batch.worker is not None:\n", "        if True:\n"),),
        "I9",
        tests=_GATES,
    ),
    Mutant(
        "what is parked is acknowledged before it has a row",
        "flows/deliver/waiting.py",
        (("        self._world.timeline.put_new(rows)\n", ""),),
        "I1",
    ),
    Mutant(
        "nobody notes that something is parked",
        "flows/deliver/waiting.py",
        (("        world.regulation.note_parked(client_id, now)\n", ""),),
        "L1",
    ),
    Mutant(
        "the note of parked work is forgotten though some of it stays",
        "flows/sweep/part.py",
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
        "flows/sweep/unpark.py",
        (
            (
                "taken = [row.key for index, (row, _, _) in enumerate(going) if index not in stay]",
                "taken = [row.key for row, _, _ in going]",
            ),
        ),
        "I1",
        scene="parked",
    ),
    Mutant(
        "what finds no permit keeps its slot",
        "flows/deliver/concurrency.py",
        (('item.release.without_slot().put_off("permit"', 'item.release.put_off("permit"'),),
        "I8",
        scene="short_of_permits",
    ),
    Mutant(
        "an open circuit is never probed",
        "domain/limits/circuits.py",
        (("if not may_probe or (now < circuit.probe_at and not (has_slot and circuit.waits)):", "if True:"),),
        "L1",
    ),
    Mutant(
        "what comes too late is delivered all the same",
        "domain/lifecycle/expiry.py",
        (("return until is not None and at > until", "return False"),),
        "I3",
    ),
    Mutant(
        "what comes too late at a poller leaves no record",
        "flows/poll/burials.py",
        (
            ("saves = world.executions.save([", "saves = list(["),
            ("for (index, _), saved in zip(late, saves, strict=True) if saved.ok}", "for index, _ in late if saves}"),
        ),
        "I12",
    ),
    Mutant(
        "what is discarded ends without a record",
        "flows/sweep/discard.py",
        (
            (
                "    saves = replace_all(world, changes)\n",
                "    saves = [Saved(ok=True) for _ in changes]\n",
            ),
            (
                "from clockwork.flows.world import World\n",
                "from clockwork.flows.world import World\nfrom clockwork.ports import Saved\n",
            ),
        ),
        "I12",
    ),
    Mutant(
        "what is redriven is not released",
        "flows/requests/redrive.py",
        ((".refused if rows else {}", ".refused if not rows else {}"),),
        "L1",
    ),
    Mutant(
        "whoever is in line reaches as far as its head",
        "domain/limits/slots.py",
        (("        return int(max(NEWCOMER_MS, TURN_MS * TURN_MS / turn_ms))\n", "        return TURN_MS\n"),),
        "I8",
        tests="tests/unit/flows/deliver/test_line_order.py",
    ),
    Mutant(
        "a retry straight from its backoff probes",
        "domain/limits/circuits.py",
        (("    return release.attempt == 1 or release.waits.held is not None\n", "    return True\n"),),
        "L1",
        tests="tests/unit/flows/sweep/test_turns_of_probes.py",
    ),
)
