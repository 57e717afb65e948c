"""Mutants of shares of pools: each leaves out a rule by which a client's flood waits behind the others."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_SHARES, _SHARING = "tests/unit/domain/test_shares.py", "tests/unit/flows/pools/test_sharing.py"
_MOVED = "        _move(batch, [new[place] for place in places])\n"
_NEW = "        new = [item for item in items if not item.release.spilled]\n"
_ANY_NEW = "    if any(not item.release.spilled for item in late):\n"
_QUEUE = "            held[index].queue = overflow_of(ticket.priority) if release.spilled else ticket.priority\n"
_HOLD = "        _renew(self._held.setdefault(pool, {}), worker_id, (now, held), MOST_WORKERS)\n"
_MEET = "            _renew(known, client, now, MOST_MET)\n"
_SPILLED = "            spilled = release.spilled or (is_beyond and note is not None and note.is_open(now))\n"
_NOTED = "        return now < self.at + NOTED_FOR_MS\n"
_FLOODS = "tests/unit/domain/test_floods.py"
_KNOWN = "    known = {} if stored is None else {one.key: one for one in stored.floods if one.is_on(now)}\n"
SHARING = (
    Mutant(
        "a ticket that its overflow queue refuses is sent to no other one",
        "flows/sealing.py",
        (("        return self._unspilled(placed, refused, keys[0], now)\n", "        return refused\n"),),
        "P10",
        tests=_SHARING,
    ),
    Mutant(
        "tickets are moved to an overflow queue that refused one a moment ago",
        "flows/pools/sharing.py",
        ((" and not shares.is_shut(pool, now):", ":"),),
        "P10",
        tests=_SHARING,
    ),
    Mutant(
        "a worker without a ticket tells of overflow queues",
        "flows/pools/sharing.py",
        (("    if not items:\n        return []\n", ""),),
        "I9",
        tests=_SHARING,
    ),
    Mutant(
        "a flood's tickets are claimed in their order",
        "flows/pools/sharing.py",
        ((_MOVED, "        _ = places\n"),),
        "P10",
        "flooded",
    ),
    Mutant(
        "a ticket is moved again and again",
        "flows/pools/sharing.py",
        ((_NEW, "        new = list(items)\n"), (_ANY_NEW, "    if late:\n")),
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
        (("        if shares > 1 and counts[client]", "        if counts[client]"),),
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
        (("        if sharing is not None and not shares", "        if not shares"),),
        "P10",
        tests=_SHARING,
    ),
    Mutant(
        "a sender puts a whole flood into the first queue",
        "flows/sealing.py",
        ((_SPILLED, "            spilled = release.spilled\n"),),
        "P10",
        tests=_SHARING,
    ),
    Mutant(
        "a sender spills where no worker asks for it",
        "domain/pools/floods.py",
        ((_NOTED, "        return True\n"),),
        "P10",
        tests=_SHARING,
    ),
    Mutant(
        "a sender knows nothing of a client that floods",
        "flows/sealing.py",
        (("not (is_first and client_id not in note.flooding(priority, now))", "not is_first"),),
        "P10",
        "trickling",
    ),
    Mutant(
        "nobody notes a client that floods",
        "flows/pools/sharing.py",
        (("    _note(batch.world, pool, note, floods, now)\n", "    _note(batch.world, pool, note, (), now)\n"),),
        "P10",
        "trickling",
    ),
    Mutant(
        "a flood is not noted any more once its tickets are spilled",
        "flows/pools/sharing.py",
        (("if item.release.spilled and has_share(_client_of(item), asking, held, met)]", "if False]"),),
        "P10",
        tests=_SHARING,
    ),
    Mutant(
        "a client is noted by one ticket beyond its share",
        "domain/pools/shares.py",
        (("        return count + 1 >= MANY_BEYOND\n", "        return True\n"),),
        "P10",
        tests=_SHARES,
    ),
    Mutant(
        "a client is moved behind a flood that waits elsewhere",
        "domain/pools/shares.py",
        (
            (
                "        shares = shares_of_all if client in flooding else shares_of_calm\n",
                "        shares = shares_of_all\n",
            ),
        ),
        "P10",
        tests=_SHARES,
    ),
    Mutant(
        "a wrong clock notes a flood for as long as it likes",
        "domain/pools/floods.py",
        (("        return now < self.until <= now + 2 * FLOODS_FOR_MS\n", "        return now < self.until\n"),),
        "P10",
        tests=_FLOODS,
    ),
    Mutant(
        "the note of one flood takes the place of another's",
        "domain/pools/floods.py",
        ((_KNOWN, "    known = dict[tuple[str, str], Flood]()\n"),),
        "P10",
        tests=_FLOODS,
    ),
)
