"""Give a claimed item what its named job has for it now, or send it the way of a target that the job was given since.

The item was admitted by its release's hint: by the circuit of that host, by what its client may name, in the queue of
that transport, with time enough for that target. If the job's target is another one, the claim is let go, no attempt is
used up, and the release is sent anew. If the deliverer dies behind the record, the message comes back, finds the record
waiting, and is claimed again.
"""

from __future__ import annotations

from functools import partial

import msgspec

from clockwork.domain.executions import Execution
from clockwork.domain.fires.hints import completed, hint_of
from clockwork.domain.jobs import KafkaTarget
from clockwork.domain.lifecycle.attempts import Action, Plan, plan_let_go
from clockwork.domain.named_jobs import NamedJob
from clockwork.domain.targets.permissions import against
from clockwork.flows.deliver.batch import Batch
from clockwork.flows.deliver.items import Item
from clockwork.flows.records import replace


def redirected(batch: Batch, item: Item, job: NamedJob) -> bool:
    """Complete the item by its job; True if it has to go another way instead, and is on it."""
    hint = item.release.occurrence
    whole = completed(hint, job)
    item.release = msgspec.structs.replace(item.release, occurrence=whole)
    if item.seen is None or hint_of(hint).target == hint_of(whole).target:
        return False
    is_rerouted = isinstance(hint.target, KafkaTarget) != isinstance(whole.target, KafkaTarget)
    if not is_rerouted and not batch.waiting.resends:
        # An ordered item keeps its place, and asks here what admission asked of the target before.
        item.refusal = against(whole.target, batch.world.clients.get(whole.client_id))
        return False
    item.release = msgspec.structs.replace(item.release, occurrence=hint_of(whole), revision=item.release.revision)
    plan, _ = replace(batch.world, item.seen, partial(_plan, item), item.replans)
    if plan.action is Action.FOLLOW_UP:
        batch.report.deferred += 1
        _send(batch, item, anew=is_rerouted and not batch.waiting.resends)
    return True


def _plan(item: Item, stored: Execution | None) -> Plan:
    if stored is None or item.seen is None or stored.claimant != item.seen.claimant:
        return Plan(Action.ABSORB, "somebody else has ended it or claimed it by now")
    reason = "its target was changed: it goes the way of the new one"
    waiting = plan_let_go(item.release, stored, reason)
    return Plan(Action.FOLLOW_UP, reason, waiting, item.release)


def _send(batch: Batch, item: Item, *, anew: bool) -> None:
    if not anew:
        batch.waiting.follow(item, item.release)
        return
    # The ordered queue of the other transport: there it lies behind what that queue has of its key.
    refused = batch.world.releases.send([item.release], batch.world.clock.now())
    if refused:
        batch.fail(item, refused[0].reason)
