"""Mutants of containment: odd rows, clients, shards and changes of records, a target, and a slow name server."""

from __future__ import annotations

from clockwork.domain.lifecycle import transitions
from tests.simulation.mutants.mutant import Mutant

_FILE, _LOOKING = "flows/poll/quarantine.py", "flows/poll/looking.py"
_TURNS = "tests/unit/flows/poll/test_quarantine_turns.py"
_TRANSITIONS = "domain/lifecycle/transitions.py"
#: Each guard of the table of transitions holds for every change, in turn.
_UNGUARDED = tuple(
    Mutant(
        f"no transition asks that {guard.says}",
        _TRANSITIONS,
        ((f"\n{name} = Guard(", f'\n{name} = Guard("", lambda *_: True) or Guard('),),
        "I4",
        tests="tests/unit/domain/lifecycle/test_transitions.py",
    )
    for name, guard in vars(transitions).items()
    if isinstance(guard, transitions.Guard)
)
#: A record that had ended for earlier revisions alone cannot end so.
_STAYS_OPEN = tuple(
    Mutant(
        f"what ended for earlier revisions never ends {state}",
        _TRANSITIONS,
        ((f"            Arrow(_UNWANTED, (State.{state},), (IS_OPEN, IS_SAME, *_UNSTARTED, IS_CLOSED)),\n", ""),),
        "L1",
        tests="tests/unit/flows/deliver/test_ended_for_earlier.py",
    )
    for state in ("EXPIRED", "DEAD")
)

CONTAINING = (
    *_UNGUARDED,
    *_STAYS_OPEN,
    Mutant(
        "a record becomes that of another execution",
        _TRANSITIONS,
        (("    if before and (after.execution_id", "    if False and (after.execution_id"),),
        "I9",
        tests="tests/unit/domain/lifecycle/test_transitions.py",
    ),
    Mutant(
        "a change follows any revision",
        _TRANSITIONS,
        (("    if after.revision != was.revision + 1:\n", "    if False:\n"),),
        "I4",
        tests="tests/unit/domain/lifecycle/test_transitions.py",
    ),
    Mutant(
        "a change that no transition allows is saved",
        "flows/hardening.py",
        (("refused(before, after)) is not None:\n", "refused(before, after)) is False:\n"),),
        "I4",
        tests="tests/unit/flows/test_refused_changes.py",
    ),
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
        _LOOKING,
        (("            _Look(visit, ways).at_all()\n", "            pass\n"),),
        "I1",
    ),
    Mutant(
        "what is looked at leaves the quarantine whatever came of it",
        _LOOKING,
        (("        is_done = not is_left and put_in_quarantine(self._visit, others)\n", "        is_done = True\n"),),
        "I1",
    ),
    Mutant(
        "a shard's row says that its quarantine is empty after each look",
        _LOOKING,
        (("        left = left if self._is_whole", "        left = 0 if self._is_whole"),),
        "I6",
    ),
    Mutant(
        "a group of the quarantine has all the time of a look",
        _LOOKING,
        (("self._world.clock.now() + TURN_MS\n", "self._world.clock.now() + LOOKED_FOR_MS\n"),),
        "I9",
        tests=_TURNS,
    ),
    Mutant(
        "only rows of clients that give no answer end the turns of their group",
        _LOOKING,
        (
            ("                group.silent += not is_done\n", ""),
            (
                "            group.silent += len(left)\n",
                "            group.silent += len(left) * group.name.startswith(domain.HOLDING)\n",
            ),
        ),
        "I9",
        tests=_TURNS,
    ),
    Mutant(
        "what has been in the quarantine for long waits although it answers",
        _LOOKING,
        (
            (
                "                ring.append(group)\n",
                "                ring.extend([group] * (group.most_silent == MOST_SILENT))\n",
            ),
        ),
        "L1",
        tests=_TURNS,
    ),
    Mutant(
        "rows that were not done together are not tried by themselves",
        _LOOKING,
        (
            (
                "        return done + self._released(group, left[:half]) + self._released(group, left[half:])\n",
                "        return done\n",
            ),
        ),
        "L1",
        tests=_TURNS,
    ),
    Mutant(
        "the groups of a quarantine have their turns in the same order each time",
        _LOOKING,
        (
            (
                "(group.most_silent < MOST_SILENT, self._world.random.fraction(), group)",
                "(group.most_silent < MOST_SILENT, group.name, group)",
            ),
        ),
        "I9",
        tests=_TURNS,
    ),
    Mutant(
        "a group that gave an answer has two rows tried in a look",
        _LOOKING,
        (("            group.most_silent = sys.maxsize\n", "            pass\n"),),
        "L1",
        tests=_TURNS,
    ),
    Mutant(
        "another tenant learns that a client is damaged",
        "flows/access.py",
        (
            (
                "        if caller.is_admin or client_id in world.clients.of_principal(caller.principal):\n",
                "        if True:\n",
            ),
        ),
        "I9",
        tests="tests/contract/test_damaged_clients.py::test_an_admin_is_told_the_repair_and_another_tenant_nothing",
    ),
    Mutant(
        "a PUT does not replace a client that cannot be read",
        "flows/requests/clients.py",
        (("        if not repairs:\n", "        if True:\n"),),
        "I1",
        tests="tests/contract/test_damaged_clients.py::test_whom_the_client_lists_is_told_as_well_and_a_put_keeps_what_no_request_sets",
    ),
    Mutant(
        "the shards that are there tell how many ordered ones were made",
        "flows/timeline/shards.py",
        (
            (
                "world.shards.ordered_count(gapless or world.settings.ordered_shards)",
                "gapless or world.settings.ordered_shards",
            ),
        ),
        "I11",
        tests="tests/unit/flows/timeline/test_shards_ordered.py",
    ),
    Mutant(
        "an odd row among the ordered shards tells their number",
        "flows/timeline/shards.py",
        (
            (
                "next(count for count in range(len(ordered) + 1) if keys.ordered_partition(count) not in ordered)",
                "max((keys.index_of(one) + 1 for one in ordered), default=0)",
            ),
        ),
        "I11",
        tests="tests/unit/flows/timeline/test_shards_ordered.py",
    ),
    Mutant(
        "a target may be the machine itself",
        "targets/web/addresses.py",
        (
            (
                "    if any(any(form in network for network in _OWN_V4 + _OWN_V6) for form in forms):\n",
                "    if False:\n",
            ),
        ),
        "I9",
        tests="tests/contract/test_targets_http.py",
    ),
    Mutant(
        "an address within another one is not looked at",
        "targets/web/addresses.py",
        (("    forms = [address, *_embedded(address)]\n", "    forms = [address]\n"),),
        "I9",
        tests="tests/contract/test_targets_http.py",
    ),
    Mutant(
        "the address of the runtime is one as any",
        "targets/web/addresses.py",
        (("if own and own in map(str, forms) else None", "if False else None"),),
        "I9",
        tests="tests/contract/test_targets_http.py",
    ),
    Mutant(
        "a client may list the machine itself",
        "edge/requests/clients.py",
        (('settings.stage != "local" and (reason', "False and (reason"),),
        "I9",
        tests="tests/handlers/test_client_policies.py",
    ),
    Mutant(
        "a lookup of a name has no limit of time",
        "aws/targets/wire/lookups.py",
        (("            return future.result(seconds)\n", "            return future.result(60)\n"),),
        "I3",
        tests="tests/contract/test_targets_http.py",
    ),
    Mutant(
        "the names of one client take all lookups",
        "aws/targets/wire/lookups.py",
        (("                if FREE_FOR_EACH_HELD * self._held[client_id] >=", "                if 0 >="),),
        "I9",
        tests="tests/contract/test_targets_http.py",
    ),
    Mutant(
        "an answer does not give its lookup back",
        "aws/targets/wire/lookups.py",
        (("                self._held -= Counter({client_id: 1})\n", ""),),
        "I1",
        tests="tests/contract/test_targets_http.py",
    ),
    Mutant(
        "an attempt that found no lookup counts",
        "flows/deliver/deliver.py",
        (
            ("if unbegun := [one for one in outcomes if one[1].state is State.PENDING]:", "if unbegun := []:"),
            (
                "        begun = [one for one in outcomes if one[1].state is not State.PENDING]\n",
                "        begun = outcomes\n",
            ),
        ),
        "I4",
        tests="tests/unit/flows/deliver/test_unbegun.py",
    ),
    Mutant(
        "an attempt that never began keeps its turn to probe",
        "flows/deliver/outcome.py",
        (("        item.is_started = False\n", ""),),
        "L1",
        tests="tests/unit/flows/deliver/test_unbegun.py",
    ),
    Mutant(
        "a cancel is forgotten that was noted before an attempt that never began",
        "flows/deliver/claim.py",
        (("    if stored.cancel_noted_at is not None:\n        why_not", "    if False:\n        why_not"),),
        "I5",
        tests="tests/unit/flows/deliver/test_unbegun.py",
    ),
    Mutant(
        "an early hint is the answer",
        "aws/targets/wire/connection.py",
        (("            if response.status >= 200:\n", "            if response.status >= 102:\n"),),
        "I1",
        tests="tests/contract/test_targets_http.py",
    ),
    Mutant(
        "a head that ends early is an answer",
        "aws/targets/wire/connection.py",
        (("            if is_cut and (line or self.lines):\n", "            if False:\n"),),
        "I1",
        tests="tests/contract/test_targets_http.py",
    ),
)
