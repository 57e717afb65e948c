"""Mutants of pools: each leaves out a rule of tickets, of claims for workers, of their watches, or of handing back."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_WATCHED = "    plans = _watched(batch, batch.each("
_CLAIMED = "            item.seen = plan.execution\n            started.append(item)\n"
_FENCES = "    return is_of_pool and (stored is None or watch.attempt == stored.attempt + 1)\n"
_DECIDE = "    going = claimable(batch, items, handlers, sharing)\n"
_LOOK = "for slot in wanted(batch, claimed, range(len(claimed)))]"
_LEASE = "lease_in_ms=max(0, record.claim.until - now)"
_WAIT = "        return max(0, max(self.release.run_at, self.release.occurrence.due_at) - self.now)\n"
_WATCHED_AT = "run_at = ends_at(running) + CLAIM_GRACE_MS if"
_CANCELLED = "    if running.cancel_noted_at is not None:\n        cancelled = "
_SAVED = "    lost = []\n    for index, saved in batch.save_plans(plans):\n"
_REPEATED = """\
    again = [item for item, plan in plans if plan.reason == "its worker asks again"]
    started += again
    plans = [(item, plan) for item, plan in plans if item not in again]
"""
_IN_HAND = "    return record.awaited is not None and "
_TOKENS = "tests/unit/flows/pools/test_tokens_of_workers.py"
PULLING = (
    Mutant(
        "a worker's claim is written before its watch is sent",
        "flows/deliver/claim.py",
        (
            (_WATCHED, "    plans = list(batch.each("),
            (
                _CLAIMED,
                "            _watched(batch, [(item, plan)])\n" + _CLAIMED,
            ),
        ),
        "I12",
    ),
    Mutant(
        "a worker's token is not checked",
        "flows/pools/reports.py",
        (("    return token if token.is_checked(keys, pool.name) else None\n", "    return token\n"),),
        "I9",
        tests=_TOKENS,
    ),
    Mutant(
        "a worker's token counts in every pool",
        "domain/lifecycle/tokens.py",
        (('else ("pool", pool)\n', 'else ("pool", "")\n'),),
        "I9",
        tests=_TOKENS,
    ),
    Mutant(
        "reads for a token that is over cost it nothing",
        "flows/pools/reports.py",
        (("            if one.is_over:\n", "            if False:\n"),),
        "I9",
        tests=_TOKENS,
    ),
    Mutant(
        "a watch fences whatever waits",
        "domain/lifecycle/awaited.py",
        ((_FENCES, "    return is_of_pool\n"),),
        "I12",
    ),
    Mutant(
        "a ticket is deleted before its claim",
        "flows/pools/claim.py",
        ((_DECIDE, "    _delete(world, list(held.values()))\n" + _DECIDE),),
        "I12",
    ),
    Mutant(
        "a ticket is sent without a check",
        "flows/sealing.py",
        (("            self._timeline.put_new(rows)\n", ""),),
        "I12",
    ),
    Mutant(
        "a check sends nothing again",
        "domain/lifecycle/awaited.py",
        (("    if stored is None:\n        return 0\n", "    if stored is None:\n        return None\n"),),
        "I12",
    ),
    Mutant(
        "a handback uses up an attempt",
        "domain/executions.py",
        (
            (
                "return self.attempt - self.budget.start - self.budget.handbacks",
                "return self.attempt - self.budget.start",
            ),
        ),
        "P3",
    ),
    Mutant(
        "a worker's claim is not looked at",
        "flows/pools/claim.py",
        ((_LOOK, "for slot in range(len(claimed))]"),),
        "I7",
    ),
    Mutant(
        "the code of a ticket is not looked at",
        "domain/messages/tickets.py",
        (("    if ticket.v != VERSION or not any(fits):", "    if ticket.v != VERSION:"),),
        "P5",
    ),
    Mutant(
        "another worker's claimId is taken for a repeat",
        "domain/lifecycle/attempts.py",
        ((" and stored.attempt == release.attempt and stored.claimant == claim.claimant:", ":"),),
        "P8",
    ),
    Mutant(
        "a heartbeat is answered with a longer lease than there is",
        "edge/responses/workers.py",
        ((_LEASE, _LEASE.replace("- now", "- now + 60_000")),),
        "P1",
    ),
    Mutant(
        "a watch comes a minute late",
        "domain/lifecycle/awaiting.py",
        ((_WATCHED_AT, _WATCHED_AT.replace("CLAIM_GRACE_MS", "CLAIM_GRACE_MS + 60_000")),),
        "P4",
    ),
    Mutant(
        "a worker starts as soon as it is answered",
        "flows/pools/claim.py",
        ((_WAIT, "        return 0\n"),),
        "P6",
    ),
    Mutant(
        "an attempt of a worker that was cancelled is followed by another",
        "domain/lifecycle/attempts.py",
        (
            (
                _CANCELLED,
                _CANCELLED.replace("is not None:", "is not None and not (running.awaited and running.awaited.pool):"),
            ),
        ),
        "P7",
    ),
    Mutant(
        "a repeat is answered without a write",
        "flows/deliver/claim.py",
        ((_SAVED, _REPEATED + _SAVED),),
        "P8",
        tests="tests/unit/flows/pools/test_permits.py",
    ),
    Mutant(
        "a pool tells of attempts that have ended",
        "flows/pools/presence.py",
        ((_IN_HAND, "    return record.awaited is None or "),),
        "P9",
    ),
)
