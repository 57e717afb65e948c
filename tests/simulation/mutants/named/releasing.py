"""Mutants of put and check, lease, read, release and commit: each leaves out a step or swaps two."""

from __future__ import annotations

from tests.simulation.mutants.mutant import Mutant

_BEHIND = "behind = [row for row in rows if shards[row.partition_id].horizon >= row.key]"
_LAST_INSTANT = "keys.edge_key(max(r.run_at for r in releases_of(row)))"
_SENT = "    sent = send(visit, going)\n"
_RELEASE = "        stopped = _stops_before(visit, most_in(some)) or release_portion(visit, some, until)\n"
_EARLY_COMMIT = """        import msgspec
        visit.lease = msgspec.structs.replace(visit.lease, cursor=some[-1].key)
        commit(visit, visit.lease.cursor)
"""

RELEASING = (
    Mutant("no look after the put", "flows/timeline/put.py", ((_BEHIND, "behind: list[Row] = []"),), "I1"),
    Mutant(
        "look before the put",
        "flows/timeline/put.py",
        (
            ("    # 1. Put.\n", "    seen = world.shards.get(sorted({row.partition_id for row in rows}))\n"),
            (_BEHIND, _BEHIND.replace("shards[", "seen[")),
        ),
        "I1",
    ),
    Mutant(
        "what was put is released, whatever its row says now",
        "flows/timeline/put.py",
        (("found = world.timeline.find([(row.partition_id, row.key) for row in rows])", "found = list(rows)"),),
        "I5",
    ),
    Mutant(
        "horizons are compared by instant, not by key",
        "flows/timeline/put.py",
        (("horizon >= row.key]", "horizon[:13] > row.key[:13]]"),),
        "I1",
    ),
    Mutant(
        "a horizon is compared with an element's instant, not with its row's key",
        "flows/timeline/put.py",
        ((_BEHIND, f"behind = [row for row in rows if shards[row.partition_id].horizon >= {_LAST_INSTANT}]"),),
        "I1",
    ),
    Mutant(
        "a refused release is not noticed",
        "flows/timeline/put.py",
        (("    elif refused:\n", "    elif refused and not releases:\n"),),
        "I1",
    ),
    Mutant(
        "a retry's row is put without a look",
        "flows/timeline/retries.py",
        (("put_and_check(world, [", "world.timeline.put_new(["), ("], ids_are_new=False)", "])")),
        "I1",
    ),
    Mutant(
        "no poller is started for what is due before the next tick",
        "flows/timeline/put.py",
        (("            world.invoker.poll(partition_id)\n", "            pass\n"),),
        "I3",
    ),
    Mutant(
        "a delay counts from the clock, not from the instant of the grid",
        "flows/poll/sending.py",
        (
            (
                "aligned = Aligned(grid.counts_from(one.at, now), grid.margin_ms)",
                "aligned = Aligned(now, grid.margin_ms)",
            ),
        ),
        "I3",
    ),
    Mutant(
        "a page is committed whose releases wait in the pool",
        "flows/poll/shard.py",
        (
            (
                "            visit.read_to = page.rows[-1].key\n",
                "            visit.read_to = page.rows[-1].key\n            commit(visit, visit.read_to)\n",
            ),
        ),
        "I6",
    ),
    Mutant("commit before send", "flows/poll/shard.py", ((_RELEASE, _EARLY_COMMIT + _RELEASE),), "I6"),
    Mutant(
        "read before the horizon is published",
        "flows/poll/visit.py",
        (
            ("now + lease_ms(world), horizon)\n", "now + lease_ms(world), keys.BEGINNING)\n"),
            (
                "None if lease is None else Visit(world, lease,",
                "None if lease is None else Visit(world, msgspec.structs.replace(lease, horizon=horizon),",
            ),
            (
                "if not visit.world.shards.commit(lease):",
                "if not visit.world.shards.commit(msgspec.structs.replace(lease, horizon=cursor)):",
            ),
        ),
        "I6",
    ),
    Mutant(
        "the cursor is an instant, not a key",
        "flows/poll/shard.py",
        (("elif not commit(visit, page.rows[-1].key):", "elif not commit(visit, page.rows[-1].key[:13] + '$'):"),),
        "I6",
    ),
    Mutant(
        "what the queue refuses is passed",
        "flows/poll/release.py",
        (("left = [one.index for one in refused if not one.permanent] + ", "left = "),),
        "I6",
    ),
    Mutant(
        "a death without an answer counts as told",
        "flows/poll/burials.py",
        (("is_outage(saved):\n                self.waiting.add(index)", "is_outage(saved):\n                pass"),),
        "I6",
        scene="unsendable",
    ),
    Mutant(
        "what can never be sent leaves no record",
        "flows/poll/release.py",
        ((_SENT, _SENT + "    sent = Sent([r for r in sent.refused if not r.permanent], sent.unsent)\n"),),
        "I12",
    ),
    Mutant(
        "a page that was cut counts as the last", "flows/poll/shard.py", (("elif not page.more:", "elif True:"),), "I6"
    ),
    Mutant(
        "commits are not fenced",
        "memory/shards.py",
        (("(shard.owner, shard.epoch) != (lease.owner, lease.epoch)", "False"),),
        "I6",
    ),
    Mutant(
        "a horizon goes back with a shorter lookahead",
        "memory/shards.py",
        (("max(shard.horizon, horizon)", "horizon"),),
        "I6",
    ),
    Mutant(
        "a row that nobody can read leaves no record",
        "flows/poll/expand.py",
        (("visited.records.append(undecodable_execution(", "repr(undecodable_execution("),),
        "I6",
    ),
    Mutant(
        "shards are used before they are registered",
        "ports/registry.py",
        (("    shards.register(shard.partition_id)\n", ""),),
        "L1",
    ),
    Mutant(
        "a shard that has left is not taken back",
        "ports/registry.py",
        (("one if one.status is ShardStatus.USED else _taken_back(shards, one)", "one"),),
        "I1",
    ),
    Mutant(
        "a shard leaves whatever it holds",
        "flows/sweep/shards.py",
        (("return bool(page.rows) or page.more", "return False"),),
        "I1",
    ),
)
