"""Mutants of pools: each leaves out a rule of tickets, of claims for workers, of their watches, or of handing back."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_WATCHED = "    plans = _watched(batch, batch.each("
_CLAIMED = "            item.seen = plan.execution\n            started.append(item)\n"
_FENCES = "    return is_watch and (stored is None or release.attempt == stored.attempt + 1)\n"
_DECIDE = "    started = _started(batch, _of_handlers(batch, items, handlers))\n"
_LOOK = "for slot in wanted(batch, claimed, range(len(claimed)))]"
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
        "a watch fences whatever waits",
        "domain/lifecycle/awaited.py",
        ((_FENCES, "    return is_watch\n"),),
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
        (("    if stored is None:\n        return True\n", "    if stored is None:\n        return False\n"),),
        "I12",
    ),
    Mutant(
        "a handback uses up an attempt",
        "domain/executions.py",
        (("return self.attempt - self.budget_from - self.handbacks", "return self.attempt - self.budget_from"),),
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
)
