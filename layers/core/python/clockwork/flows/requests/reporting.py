"""Reports of attempts that end by callback: heartbeats, successes and failures, under the token of the attempt.

The record decides whether a token counts. A report is stored first; then the watch of a failure is sent, which does
what follows; then the caller is answered. A repeat of the same report gets the same answer, and sends the watch again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec

from clockwork.domain.clients import ClientUnreadable
from clockwork.domain.errors import ExecutionNotFound, StaleToken, Unavailable
from clockwork.domain.executions import Execution, Report, State
from clockwork.domain.ids import is_node
from clockwork.domain.lifecycle.ownership import is_of_client_since
from clockwork.domain.lifecycle.reports import Heartbeat, ReportPlan, plan_heartbeat, plan_report
from clockwork.domain.lifecycle.tokens import InvalidToken, Token, decode_token
from clockwork.flows.access import Caller, find_execution
from clockwork.flows.records import replace
from clockwork.flows.requests.permits import settle_permit
from clockwork.flows.timeline.retries import send_retries
from clockwork.flows.workflows import late
from clockwork.flows.world import World


class Reported(msgspec.Struct, frozen=True):
    """A receiver's report of its attempt: SUCCEEDED with a `result` (JSON), or FAILED with an `error`, CANCELLED."""

    state: State
    result: bytes | None = None
    error: str | None = None
    retryable: bool = True
    retry_after_seconds: float | None = None


def report(world: World, caller: Caller, execution_id: str, token_text: str, said: Reported) -> Execution:
    """Report how an attempt went; returns its record as it stands then.

    Raises ExecutionNotFound; StaleToken, and then nothing was changed; Unavailable if the answer is not certain: the
    caller may repeat.
    """
    return note_report(world, *_of(world, caller, execution_id, token_text), said)


def beat(world: World, caller: Caller, execution_id: str, token_text: str, said: Heartbeat) -> Execution:
    """Take a sign of life of an attempt; returns its record, with the end of its claim and whether a cancel is noted.

    Raises as `report` does.
    """
    return note_beat(world, *_of(world, caller, execution_id, token_text), said)


def require_owner(world: World, execution: Execution) -> None:
    """Raise ExecutionNotFound if the execution is of a client that was deleted, or is being deleted.

    A client that cannot be read was not: what its receivers report counts.
    """
    try:
        client = world.clients.get(execution.client_id)
    except ClientUnreadable:
        return
    if client is None:
        return
    if client.deleting_at is not None or not is_of_client_since(client.since_at, execution):
        raise ExecutionNotFound(execution.execution_id)


def note_report(world: World, token: Token, met: Execution, said: Reported) -> Execution:
    """Report how the attempt of a token went, on the record that was met. Raises StaleToken and Unavailable."""
    told = Report(token.claimant, at=world.clock.now(), **msgspec.structs.asdict(said))
    return settle(world, met, partial(plan_report, token=token, report=told))


def settle(world: World, met: Execution, plan_of: Callable[[Execution | None], ReportPlan]) -> Execution:
    """Do as is planned for a report, on the record that was met. Raises StaleToken and Unavailable."""
    plan, stored = replace(world, met, plan_of)
    if plan.is_stale or stored is None:
        raise StaleToken(plan.reason)
    faults = {} if plan.release is None else send_retries(world, [plan.release])
    settle_permit(world, met, stored)
    for why_not in faults.values():
        raise Unavailable(why_not)
    if plan.release is None and is_node(stored.job_id) and stored.is_final:
        # The call before may have died behind the record.
        late.nudge(world, [stored])
    return stored


def note_beat(world: World, token: Token, met: Execution, said: Heartbeat) -> Execution:
    """Take a sign of life of the attempt of a token, on the record that was met. Raises as `note_report` does."""
    plan, stored = replace(world, met, partial(plan_heartbeat, token=token, beat=said))
    for why_not in ({} if plan.release is None else send_retries(world, [plan.release])).values():
        raise Unavailable(why_not)
    if plan.is_stale or stored is None:
        raise StaleToken(plan.reason)
    settle_permit(world, met, stored)
    return stored


def _of(world: World, caller: Caller, execution_id: str, token_text: str) -> tuple[Token, Execution]:
    """The token, and the record of the execution, which the caller may see."""
    _, stored = find_execution(world, caller, execution_id)
    if stored is None:
        raise ExecutionNotFound(execution_id)
    require_owner(world, stored)
    try:
        return decode_token(token_text), stored
    except InvalidToken as error:
        raise StaleToken(str(error)) from None
