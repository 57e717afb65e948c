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
_SHARES, _SHARING = "tests/unit/domain/test_shares.py", "tests/unit/flows/pools/test_sharing.py"
_TOKENS = "tests/unit/flows/pools/test_tokens_of_workers.py"
_MOVED = "            _move(batch, [new[place] for place in places])\n"
_NEW = "        new = [item for item in some if not item.release.spilled]\n"
_QUEUE = "            held[index].queue = overflow_of(ticket.priority) if release.spilled else ticket.priority\n"
_HOLD = "        _renew(self._held.setdefault(pool, {}), worker_id, (now, held), MOST_WORKERS)\n"
_MEET = "            _renew(known, client, now, MOST_MET)\n"
_NOTED = "        return noted_at is not None and now < noted_at + NOTED_FOR_MS\n"
PULLING = (
    Mutant(
        "a ticket that its overflow queue refuses is sent to no other one",
        "flows/sealing.py",
        (("        return self._unspilled(placed, refused, keys[0], now)\n", "        return refused\n"),),
        "P10",
        tests="tests/unit/flows/pools/test_sharing.py",
    ),
    Mutant(
        "tickets are moved to an overflow queue that refused one a moment ago",
        "flows/pools/sharing.py",
        ((" and not shares.is_shut(pool, now):", ":"),),
        "P10",
        tests="tests/unit/flows/pools/test_sharing.py",
    ),
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
        "a worker without a ticket tells of overflow queues",
        "flows/pools/sharing.py",
        (("    if not items:\n        return []\n", ""),),
        "I9",
        tests=_SHARING,
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
        "stalled",
    ),
    Mutant(
        "a pool tells of attempts that have ended",
        "flows/pools/presence.py",
        ((_IN_HAND, "    return record.awaited is None or "),),
        "P9",
    ),
    Mutant(
        "a flood's tickets are claimed in their order",
        "flows/pools/sharing.py",
        ((_MOVED, "            _ = places\n"),),
        "P10",
        "flooded",
    ),
    Mutant(
        "a ticket is moved again and again",
        "flows/pools/sharing.py",
        ((_NEW, "        new = list(some)\n"),),
        "P10",
        tests=_SHARING,
    ),
    Mutant(
        "a moved ticket is deleted where it lay first",
        "flows/pools/claim.py",
        ((_QUEUE, "            held[index].queue = ticket.priority\n"),),
        "P10",
        tests=_SHARING,
    ),
    Mutant(
        "a client alone in a pool is moved",
        "domain/pools/shares.py",
        (("        if shares > 1 and counts[client] >= most:", "        if counts[client] >= most:"),),
        "P10",
        tests=_SHARES,
    ),
    Mutant(
        "a flood is forgotten while others send",
        "domain/pools/shares.py",
        ((_HOLD, "        self._held[pool] = {worker_id: (now, held)}\n"),),
        "P10",
        tests=_SHARES,
    ),
    Mutant(
        "a quiet client is forgotten while a flood sends",
        "domain/pools/shares.py",
        ((_MEET, "            self._met[pool, priority] = {client: now}\n"),),
        "P10",
        tests=_SHARES,
    ),
    Mutant(
        "no share is kept for a client that may come",
        "domain/pools/shares.py",
        ((" + any(client not in present for client in met)", ""),),
        "P10",
        "flooded",
    ),
    Mutant(
        "tickets are moved for a worker that never asks for them there",
        "flows/pools/sharing.py",
        (("        if sharing is not None and is_late", "        if is_late"),),
        "P10",
        tests=_SHARING,
    ),
    Mutant(
        "a sender puts a whole flood into the first queue",
        "flows/sealing.py",
        (("spilled = release.spilled or (not is_first and has_overflow[pool])", "spilled = release.spilled"),),
        "P10",
        tests=_SHARING,
    ),
    Mutant(
        "a sender spills where no worker asks for it",
        "flows/sealing.py",
        ((_NOTED, "        return True\n"),),
        "P10",
        tests=_SHARING,
    ),
)
