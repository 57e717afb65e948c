"""Mutants of the quarantine: what nothing came of is passed, kept, looked at again, and leaves once it is done."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_FILE = "flows/poll/quarantine.py"

QUARANTINING = (
    Mutant(
        "what nothing came of is passed and kept nowhere",
        _FILE,
        (("    if not untold:\n        return True\n", "    if True:\n        return True\n"),),
        "I6",
    ),
    Mutant(
        "a row of which nothing came leaves nothing for the quarantine",
        "flows/poll/expand.py",
        (("self.untold = [Untold(self.row.key, why_not, client_id=client_id, holds=holds)]", "self.untold = []"),),
        "I6",
    ),
    Mutant(
        "a shard's row does not say that its quarantine holds anything",
        _FILE,
        (("quarantined=visit.lease.quarantined + len(made))", "quarantined=visit.lease.quarantined)"),),
        "I6",
    ),
    Mutant(
        "the quarantine is not looked at",
        _FILE,
        (("            _Look(visit, ways).at_all()\n", "            pass\n"),),
        "I1",
    ),
    Mutant(
        "what is looked at leaves the quarantine whatever came of it",
        _FILE,
        (("            if self._is_done(row):\n", "            if self._is_done(row) or row.key:\n"),),
        "I1",
    ),
    Mutant(
        "a shard's row says that its quarantine is empty after each look",
        _FILE,
        (("        left = left if self._is_whole", "        left = 0 if self._is_whole"),),
        "I6",
    ),
)
