"""The shortcuts that suggest themselves, each an edit of the shipped sources that the simulator must notice."""

from __future__ import annotations

from tests.simulation.mutants.trial import Mutant

_LOOK = """    shards = world.shards.get(sorted({row.partition_id for row in rows}))
"""
_PUT = """    # 1. Put.
"""
_BEHIND = "behind = [row for row in rows if shards[row.partition_id].horizon >= row.key]"
_DEFER = 'Action.DEFER, "another deliverer\'s claim is live", release=_again(release, release.attempt, back_at)'
_FOLLOW_UP = 'return Plan(Action.FOLLOW_UP, f"attempt {following} waits and this is not it", release=again)'
_RELEASE = "        stopped = _release_batch(visit, some, until)\n"
_EARLY_COMMIT = """        visit.lease = msgspec.structs.replace(visit.lease, cursor=some[-1].key)
        _commit(visit, visit.lease.cursor)
"""

NAMED = (
    # Put, then look.
    Mutant("no look after the put", "flows/place.py", ((_BEHIND, "behind: list[Row] = []"),)),
    Mutant("look before the put", "flows/place.py", ((_LOOK, ""), (_PUT, _LOOK + _PUT))),
    Mutant(
        "what was put is released, whatever its row says now",
        "flows/place.py",
        (("found = world.timeline.find([(row.partition_id, row.key) for row in rows])", "found = list(rows)"),),
    ),
    Mutant(
        "horizons are compared by instant, not by key",
        "flows/place.py",
        (("horizon >= row.key]", "horizon[:13] > row.key[:13]]"),),
    ),
    Mutant("a refused release is not noticed", "flows/place.py", (("    if refused:\n", "    if not releases:\n"),)),
    Mutant(
        "a retry's row is put without a look",
        "flows/follow.py",
        (("place(world, [row], ids_are_new=False)", "world.timeline.put_new([row])"),),
    ),
    # The poller.
    Mutant("commit before send", "flows/poll.py", ((_RELEASE, _EARLY_COMMIT + _RELEASE),)),
    Mutant(
        "read before the horizon is published",
        "flows/poll.py",
        (
            ("now + lease_ms(world), horizon)\n", "now + lease_ms(world), keys.BEGINNING)\n"),
            (
                "until = visit.lease.horizon\n",
                "until = max(visit.lease.horizon, keys.edge_key(world.clock.now() + visit.lookahead_ms))\n",
            ),
            ("horizon=visit.lease.horizon if let_go else", "horizon=max(visit.lease.horizon, cursor) if let_go else"),
        ),
    ),
    Mutant(
        "the cursor is an instant, not a key",
        "flows/poll.py",
        (("elif not commit(visit, page.rows[-1].key):", "elif not commit(visit, page.rows[-1].key[:13] + '$'):"),),
    ),
    Mutant(
        "what the queue refuses is passed",
        "flows/poll.py",
        (("return all(r.permanent for r in refused) and not any(one.unavailable for one in saved)", "return True"),),
    ),
    Mutant(
        "what can never be sent leaves no record",
        "flows/poll.py",
        (("for r in refused if r.permanent]", "for r in refused if False]"),),
    ),
    Mutant("a page that was cut counts as the last", "flows/poll.py", (("elif not page.more:", "elif True:"),)),
    Mutant(
        "commits are not fenced",
        "memory/shards.py",
        (("(shard.owner, shard.epoch) != (lease.owner, lease.epoch)", "False"),),
    ),
    Mutant(
        "a horizon goes back with a shorter lookahead",
        "memory/shards.py",
        (("max(shard.horizon, horizon)", "horizon"),),
    ),
    Mutant(
        "a row that nobody can read leaves no record",
        "flows/advance.py",
        (("if isinstance(read.fault, Undecodable):", "if isinstance(read.fault, NewerFormat) and not read.row:"),),
    ),
    Mutant(
        "a newer version's row is passed",
        "flows/poll.py",
        (
            ("done = visited[:-1] if newer else visited", "done = visited"),
            ('    if newer:\n        return "stuck"\n', ""),
        ),
    ),
    # Claims.
    Mutant(
        "nothing is claimed",
        "flows/claim.py",
        (
            ('item.release.occurrence.record == "none" and not end_unclaimed(batch, item)]', "True]"),
            (
                'open_items = [item for item in items if item.release.occurrence.record == "full"]',
                "open_items: list[Item] = []",
            ),
        ),
    ),
    Mutant(
        "a claim that got no answer is taken for ours",
        "flows/claim.py",
        (("            batch.fail(item, saved.unavailable)\n", "            started.append(item)\n"),),
    ),
    Mutant(
        "live claims are ignored",
        "domain/attempts.py",
        (("        if is_claimed(stored, claim.now):", "        if False:"),),
    ),
    Mutant(
        "clocks are taken to agree on when a claim ends",
        "domain/attempts.py",
        (("CLAIM_GRACE_MS = 1_000", "CLAIM_GRACE_MS = -1_000"),),
    ),
    Mutant(
        "what loses to a live claim is acknowledged", "domain/attempts.py", ((_DEFER, _DEFER.split(", release=")[0]),)
    ),
    Mutant(
        "a recorded retry is not released again",
        "domain/attempts.py",
        ((_FOLLOW_UP, _FOLLOW_UP.replace(", release=again", "")),),
    ),
    Mutant(
        "lost workers never count", "domain/retries.py", (("min(lost_workers, FORGIVEN_LOST_WORKERS)", "lost_workers"),)
    ),
    Mutant("attempts are not bounded", "domain/retries.py", (("counted >= policy.max_attempts", "counted < 0"),)),
    # Hold.
    Mutant(
        "nothing is held",
        "flows/look.py",
        (("        batch.world.clock.hold_until(claimed[slot].release.run_at)\n", ""),),
    ),
    Mutant(
        "held to the second",
        "flows/look.py",
        (("hold_until(claimed[slot].release.run_at)", "hold_until(claimed[slot].release.run_at // 1000 * 1000)"),),
    ),
    Mutant("what is early is started", "flows/look.py", (("release.run_at <= now", "release.run_at <= now + 2000"),)),
    # Outcomes.
    Mutant(
        "a stale outcome is planned anew",
        "flows/record.py",
        (
            (
                "elif saved.actual is not None and saved.actual.claimant == item.seen.claimant:",
                "elif saved.actual is not None:",
            ),
        ),
    ),
    Mutant(
        "records are stored over whatever is there",
        "memory/executions.py",
        (("if (stored and stored.revision) != (before and before.revision):", "if False:"),),
    ),
    Mutant(
        "a retry is sent though its failure was not recorded",
        "flows/record.py",
        (("            batch.fail(item, saved.unavailable)\n", "            batch.settle(item, plan)\n"),),
    ),
    Mutant(
        "a message is acknowledged before what follows is released",
        "flows/deliver.py",
        (("        if why_not is not None:", "        if False:"),),
    ),
    Mutant(
        "what goes back is acknowledged though refused",
        "flows/batch.py",
        (("            self.fail(items[refusal.index], refusal.reason)\n", "            log.info(refusal.reason)\n"),),
    ),
    # Cancel.
    Mutant("a cancel replaces a claim", "domain/cancels.py", (("if stored.state is State.RUNNING:", "if False:"),)),
    Mutant(
        "cancelled is answered without reading the shard", "domain/cancels.py", (("if horizon < key:", "if True:"),)
    ),
    Mutant(
        "the row is not marked",
        "flows/cancel.py",
        (("    world.timeline.cancel(job.place.partition_id, job.place.key, job.place.element)\n", ""),),
    ),
    Mutant(
        "the row is marked last",
        "flows/cancel.py",
        (
            ("    world.timeline.cancel(job.place.partition_id, job.place.key, job.place.element)\n", ""),
            (
                "        plan = _cancel_unrecorded(world, job)\n",
                "        plan = _cancel_unrecorded(world, job)\n"
                "        world.timeline.cancel(job.place.partition_id, job.place.key, job.place.element)\n",
            ),
        ),
    ),
    Mutant(
        "a noted cancel does not end the retries",
        "domain/attempts.py",
        (("if running.cancel_noted_at is not None:", "if False:"),),
    ),
    Mutant(
        "a record that got no answer counts as cancelled",
        "flows/cancel.py",
        (("            raise Unavailable(saved.unavailable)\n", "            return _answer(plan, plan.execution)\n"),),
    ),
    # Idempotent create.
    Mutant(
        "a keyed create puts over what is there",
        "flows/create.py",
        (("ids_are_new=request.idempotency_key is None", "ids_are_new=True"),),
    ),
    Mutant(
        "ids are drawn, not derived from the key row",
        "flows/create.py",
        (("ids.derive(origin.client_id, origin.seed, index)", "world.chance.token()"),),
    ),
    Mutant(
        "which jobs share a row depends on which are valid",
        "flows/create.py",
        (
            (
                "origin.packing, request.outlines,",
                "origin.packing, [o for o in request.outlines if o.index in occurrences],",
            ),
        ),
    ),
    Mutant(
        "a job that its shared row lacks gets none",
        "flows/create.py",
        (("for index in _left_out(world, shared)", "for index in ()"),),
    ),
    Mutant(
        "one cancelled job takes its whole row along",
        "domain/rows.py",
        (("elif index not in row.cancelled:", "elif not row.cancelled:"),),
    ),
    Mutant(
        "instants are those of the repeat",
        "flows/create.py",
        (
            (
                "occurrence_of(new_job, request.client, origin.created_at)",
                "occurrence_of(new_job, request.client, world.clock.now())",
            ),
        ),
    ),
    Mutant(
        "another request under the key is accepted", "flows/create.py", (("kept.digest != request.digest", "False"),)
    ),
    Mutant(
        "key rows are forgotten at once",
        "memory/clients.py",
        (("stored.expires_at <= now", "stored.expires_at > now"),),
    ),
    Mutant("key rows are remembered for ever", "memory/clients.py", (("or stored.expires_at <= now", ""),)),
    # Isolation.
    Mutant("anybody's job is shown", "flows/find.py", ((" or not caller.may_act_for(element.client_id)", ""),)),
    Mutant(
        "a named client need not list the caller",
        "flows/authorise.py",
        (("client is None or not (caller.is_admin or caller.principal in client.principals)", "client is None"),),
    ),
    # The sweeper.
    Mutant(
        "dead letters are deleted unread",
        "flows/sweep.py",
        (("            if _sweep(world, letter, report):", "            if True:"),),
    ),
    Mutant(
        "dead letters are deleted though the queue refused them",
        "flows/sweep.py",
        (("        return not refused\n", "        return True\n"),),
    ),
    Mutant("dead letters come back for ever", "flows/sweep.py", (("sweeps=release.sweeps + 1", "sweeps=0"),)),
    # What a lost worker, a pause or an open circuit leaves behind.
    Mutant(
        "a dead letter in use is buried",
        "domain/attempts.py",
        (
            (
                "return stored.state is State.RUNNING and now < (stored.claim_until or 0) + CLAIM_GRACE_MS",
                "return False",
            ),
        ),
    ),
    # Named jobs.
    Mutant(
        "a changed job is not looked at before it starts",
        "flows/look.py",
        (("    if not named:\n", "    if named:\n"),),
    ),
    Mutant(
        "the chain is not settled after the row is written",
        "flows/named.py",
        (("released=settle(world, job, first_pointer(job)))", "released=())"),),
    ),
    # The registry.
    Mutant(
        "shards are used before they are registered",
        "flows/registry.py",
        (("        world.shards.register(partition_id)\n", "        pass\n"),),
    ),
)
