"""Mutants of `overlap: skip`: each lets an execution begin beside another one of its job, or holds one up for ever."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_LOOKS = "tests/unit/flows/test_overlaps.py"
_BACKFILLS = "tests/unit/flows/named/test_overlapping_backfills.py"
_CHANGES = "tests/unit/flows/named/test_changed_overlap.py"
_OF_NOW = "    first = stile.ended_before if stile is not None and _knows(stile, job) else"
_OTHERS = "    return not other.is_final and (has_begun(other) or not waits_for_others)\n"
_OUTSIDE = "        return is_under_way(other) and has_begun(other)\n"
_FIRST = "        is_first = (not began, other.execution_id) < (not self.has_begun, self.execution_id)\n"
_CLAIMED = "        return is_first or (may_run and is_claimed(other, now))\n"

SKIPPING = (
    Mutant(
        "what goes another way is let through before",
        "flows/deliver/start.py",
        (
            (
                "    if redirect(batch, item, job):\n        return False\n"
                '    if job.definition.overlap != "skip":\n        return True\n',
                '    if job.definition.overlap != "skip":\n        return not redirect(batch, item, job)\n',
            ),
            (
                "    return why_not is None\n",
                "    return why_not is None and not redirect(batch, item, job)\n",
            ),
        ),
        "I7",
        tests=_BACKFILLS,
    ),
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
        (("    return stile.skips_from >= job.skips_from\n", "    return True\n"),),
        "I7",
        tests=_CHANGES,
    ),
    Mutant(
        "a change to overlap: skip leaves no trace in the row",
        "domain/named/changes.py",
        (("skips_from=after.revision, skips_from_at=boundary_at", ""),),
        "I7",
        tests=_CHANGES,
    ),
    Mutant(
        "how far back all have ended is told past what waits",
        "domain/named/overlaps.py",
        (
            (
                "    stays = (one.execution_id for one in found if is_under_way(one))\n",
                "    stays = (one.execution_id for one in found if False)\n",
            ),
        ),
        "I7",
        scene="skipping",
    ),
    Mutant(
        "who was let through before its job became overlap: allow passes again",
        "domain/named/overlaps.py",
        (
            (
                "    return stile is not None and stile.last == execution_id and _knows(stile, job)\n",
                "    return stile is not None and stile.last == execution_id\n",
            ),
        ),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "the name of before a change to overlap: skip stays",
        "domain/named/overlaps.py",
        (("through or (before.last if _knows(before, job) else None)", "through or before.last"),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "the row of before a change to overlap: skip sets the turnstile back",
        "domain/named/overlaps.py",
        (("skips_from=max(before.skips_from, job.skips_from)", "skips_from=job.skips_from"),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "what began by a clock ahead of the change is not looked for",
        "domain/named/overlaps.py",
        (("job.skips_from_at + CLAIM_GRACE_MS if", "job.skips_from_at if"),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "whoever is named passes without a write",
        "flows/overlaps.py",
        (("_Seen(stile, found, ended_before=stile.ended_before)", "_Seen(stile, found)"),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "only the first ten records are read",
        "flows/overlaps.py",
        (("    is_long = more and not is_met\n", "    more = False\n    is_long = more and not is_met\n"),),
        "I4",
        tests=_LOOKS,
    ),
    Mutant(
        "what waits for others holds others back",
        "domain/named/overlaps.py",
        ((_OTHERS, "    return not other.is_final\n"),),
        "I4",
        tests=_LOOKS,
    ),
    Mutant(
        "what waits for others between two attempts holds nobody back",
        "domain/named/overlaps.py",
        ((_OTHERS, "    return not other.is_final and not waits_for_others\n"),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "what was redriven has begun",
        "domain/named/overlaps.py",
        (
            (
                "    return any(attempt.number > stored.budget.start for attempt in stored.attempts[-1:])\n",
                "    return bool(stored.attempts)\n",
            ),
        ),
        "I4",
        tests=_LOOKS,
    ),
    Mutant(
        "whose deliverer was lost holds nobody back",
        "domain/named/overlaps.py",
        ((_OTHERS, _OTHERS.replace(" and (", " and other.state is not State.RUNNING and (")),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "one of an order begins beside what has begun outside it",
        "domain/named/overlaps.py",
        ((_OUTSIDE, "        return is_claimed(other, now)\n"),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "the head of an order waits for what has not begun",
        "domain/named/overlaps.py",
        ((_OUTSIDE, "        return is_under_way(other)\n"),),
        "L1",
        tests=_LOOKS,
    ),
    Mutant(
        "the head of an order waits for what lies behind it",
        "domain/named/overlaps.py",
        (("        if other.waits.order == self.order:\n", "        if False:\n"),),
        "L1",
        tests=_LOOKS,
    ),
    Mutant(
        "a claim does not tell the order of its message",
        "flows/deliver/claim.py",
        (("jitter=jitter, order=order)", "jitter=jitter)"),),
        "L1",
        tests="tests/unit/flows/named/test_overlapping_backfills.py",
    ),
    Mutant(
        "what goes to another queue does not tell its order there",
        "flows/deliver/inform.py",
        (("msgspec.structs.replace(waiting.waits, order=order)", "waiting.waits"),),
        "L1",
        tests=_CHANGES,
    ),
    Mutant(
        "the queues of other deliverers are no orders of their own",
        "domain/ordering.py",
        (("{lane if lane in lanes else ''}/", "/"),),
        "I7",
        tests=_CHANGES,
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
        (("    if is_long and why_not is not None:\n", "    if False:\n"),),
        "I4",
        tests=_LOOKS,
    ),
    Mutant(
        "what runs and is due later is in nobody's way",
        "domain/named/overlaps.py",
        ((_CLAIMED, "        return is_first\n"),),
        "I4",
        tests=_LOOKS,
    ),
    Mutant(
        "each of two claims that look yields to the other",
        "domain/named/overlaps.py",
        ((_CLAIMED, "        return is_first or is_claimed(other, now)\n"),),
        "L1",
        tests=_LOOKS,
    ),
    Mutant(
        "a claim that looks has begun",
        "domain/named/overlaps.py",
        (("has_begun(other) if may_run else _was_tried(other)\n", "has_begun(other)\n"),),
        "L1",
        tests=_LOOKS,
    ),
    Mutant(
        "a claim of about the change looks as every other one",
        "domain/named/overlaps.py",
        (("    return looked_before or was_let_through", "    return was_let_through"),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "a redrive of a record as it was is in nobody's way",
        "domain/named/overlaps.py",
        (('    if is_lost or is_outdated or other.kept.source == "record":\n', "    if is_lost or is_outdated:\n"),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "the row of before another change tells which claims look",
        "domain/named/overlaps.py",
        (("    if is_lost or is_outdated or other", "    if is_lost or other"),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "what has begun and is due later is in nobody's way",
        "domain/named/overlaps.py",
        ((_FIRST, "        is_first = other.execution_id < self.execution_id\n"),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "what was let through last and is due later is not looked for",
        "flows/overlaps.py",
        (("    if stile is None or stile.last is None or stile.last == entrant.execution_id:\n", "    if True:\n"),),
        "I7",
        tests=_LOOKS,
    ),
    Mutant(
        "a claim of another that has ended is no beginning",
        "domain/named/overlaps.py",
        (("(_was_tried(stored) if is_claimed else has_begun(stored))", "_was_tried(stored)"),),
        "I1",
        tests=_CHANGES,
    ),
)
