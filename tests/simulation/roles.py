"""Checks the table actions that calls of ports need against the IAM role of the caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from infra.table_actions import TABLE_ACTIONS

#: The table and action behind a call, by its number of items. `tests/crash_points` checks the adapters' roles.
Needs = Callable[[int], tuple[str, str]]


class AccessDenied(Exception):
    """AWS would have refused this call."""


def _needs(table: str, action: str, of_several: str | None = None) -> Needs:
    return lambda count: (table, of_several if of_several is not None and count > 1 else action)


NEEDS: Mapping[str, Needs] = {
    "timeline.put": _needs("timeline", "PutItem", "BatchWriteItem"),
    "timeline.put_new": _needs("timeline", "PutItem"),
    "timeline.find": _needs("timeline", "GetItem", "BatchGetItem"),
    "timeline.read": _needs("timeline", "Query"),
    "timeline.cancel": _needs("timeline", "UpdateItem"),
    "timeline.forget": _needs("timeline", "BatchWriteItem"),
    "shards.list": _needs("shards", "Scan"),
    "shards.all": _needs("shards", "Scan"),
    "shards.get": _needs("shards", "GetItem", "BatchGetItem"),
    "shards.register": _needs("shards", "PutItem"),
    "shards.ordered_count": _needs("shards", "GetItem", "PutItem"),
    "shards.change": _needs("shards", "UpdateItem"),
    "shards.acquire": _needs("shards", "UpdateItem"),
    "shards.commit": _needs("shards", "UpdateItem"),
    "jobs.get": _needs("jobs", "GetItem", "BatchGetItem"),
    "jobs.save": _needs("jobs", "PutItem"),
    "jobs.list": _needs("jobs", "Query"),
    "jobs.scan": _needs("jobs", "Scan"),
    "key_rows.claim": _needs("jobs", "PutItem"),
    "executions.save": _needs("executions", "PutItem"),
    "executions.find": _needs("executions", "GetItem"),
    "executions.get": _needs("executions", "GetItem", "BatchGetItem"),
    "executions.list": _needs("executions", "Query"),
    "executions.between": _needs("executions", "Query"),
    "executions.dead": _needs("executions", "Query"),
    "executions.retrying": _needs("executions", "Query"),
    "executions.indexed": _needs("executions", "Query"),
    "clients.get": _needs("clients", "GetItem"),
    "clients.of_principal": _needs("clients", "Query"),
    "clients.admins": _needs("clients", "GetItem"),
    "clients.put": _needs("clients", "PutItem"),
    "pools.get": _needs("clients", "GetItem"),
    "pools.put": _needs("clients", "PutItem"),
    "pools.note_overflow": _needs("clients", "PutItem"),
    "pools.overflow": _needs("clients", "GetItem"),
    "ticket_keys.get": _needs("clients", "GetItem"),
    "ticket_keys.make": _needs("clients", "PutItem"),
    "checkpoints.get": _needs("executions", "GetItem"),
    "checkpoints.put": _needs("executions", "PutItem"),
    "turnstiles.get": _needs("executions", "GetItem"),
    "turnstiles.put": _needs("executions", "PutItem"),
    "runs.get": _needs("executions", "GetItem", "BatchGetItem"),
    "runs.put_new": _needs("executions", "PutItem"),
    "runs.add": _needs("executions", "UpdateItem"),
    "runs.stop": _needs("executions", "UpdateItem"),
    "runs.open": _needs("executions", "UpdateItem"),
    "workers.note": _needs("executions", "PutItem"),
    "workers.list": _needs("executions", "Query"),
    "trail.note": _needs("executions", "PutItem"),
    "trail.list": _needs("executions", "Query"),
    "activity.note": _needs("executions", "PutItem"),
    "activity.list": _needs("executions", "Query"),
    "operations.find": _needs("clients", "GetItem"),
    "operations.save": _needs("clients", "PutItem"),
    "operations.list": _needs("clients", "Query"),
    "operations.open": _needs("clients", "Query"),
    "operations.open_of": _needs("clients", "GetItem"),
    "operations.put_open": _needs("clients", "PutItem"),
    "regulation.count_created": _needs("clients", "UpdateItem"),
    "regulation.reserve": _needs("clients", "UpdateItem"),
    "regulation.line_up": _needs("clients", "UpdateItem"),
    "regulation.lease": _needs("clients", "UpdateItem"),
    "regulation.taken": _needs("clients", "Query"),
    "regulation.give_back": _needs("clients", "UpdateItem"),
    "regulation.circuits": _needs("clients", "Query"),
    "regulation.save_circuit": _needs("clients", "PutItem"),
    "regulation.close_circuit": _needs("clients", "DeleteItem"),
    "regulation.parked": _needs("clients", "Query"),
    "regulation.note_parked": _needs("clients", "UpdateItem"),
    "regulation.direct_parked": _needs("clients", "UpdateItem"),
    "regulation.forget_parked": _needs("clients", "DeleteItem"),
}
#: Ports without a table behind them.
NO_TABLE = frozenset(
    {"releases", "backlog", "dead_letters", "notices", "visibility", "invoker", "targets", "rejects", "pool_queues"}
)


def require_allowed(actor: str, call: str, items: Sequence[object], about: Sequence[object]) -> None:
    """Raises AccessDenied if the acting Lambda's role does not allow the table actions of its call."""
    port = call.partition(".")[0]
    if port in NO_TABLE:
        return
    first = about[0] if about else None
    several = items if len(items) > 1 else first if isinstance(first, Sequence) and not isinstance(first, str) else ()
    require(actor, *NEEDS[call](len(several)))


def require(actor: str, table: str, action: str) -> None:
    """Raises AccessDenied if the acting Lambda's role does not allow this action."""
    kind = actor.split()[0].partition("<")[0]
    if action not in TABLE_ACTIONS[kind].get(table, "").split():
        raise AccessDenied(f"the {kind} may not {action} in {table}")
