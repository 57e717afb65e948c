"""Reports that come unsigned, by the token of their attempt alone: who may make them is whoever the token was sent to.

How it fails. A text that is made up is refused by its check, before any record is read. A token whose attempt has ended
is refused by the record. Both get the same answer, so it tells nothing.
"""

from __future__ import annotations

from clockwork.domain import ids
from clockwork.domain.errors import ExecutionNotFound, StaleToken, UnknownToken
from clockwork.domain.executions import Execution
from clockwork.domain.ids import InvalidId
from clockwork.domain.lifecycle.reports import Heartbeat
from clockwork.domain.lifecycle.tokens import InvalidToken, Token, decode_token
from clockwork.flows.check_keys import check_keys
from clockwork.flows.requests.reporting import Reported, note_beat, note_report, require_owner
from clockwork.flows.world import World


def checked_token(world: World, text: str) -> Token:
    """The token, which this deployment has sent. Raises UnknownToken for any other text, and Unavailable."""
    try:
        token = decode_token(text)
        ids.decode_execution(token.execution_id)
    except (InvalidToken, InvalidId):
        raise UnknownToken from None
    if not token.is_checked(check_keys(world)):
        raise UnknownToken
    return token


def report_unsigned(world: World, token: Token, said: Reported | Heartbeat) -> Execution:
    """Take what was said of the attempt of a checked token; returns its record as it stands then.

    Raises UnknownToken, and then nothing was changed; Unavailable if the answer is not certain.
    """
    stored = world.executions.find(ids.decode_execution(token.execution_id).job_id, token.execution_id)
    if stored is None:
        raise UnknownToken
    try:
        require_owner(world, stored)
        if isinstance(said, Heartbeat):
            return note_beat(world, token, stored, said)
        return note_report(world, token, stored, said)
    except (StaleToken, ExecutionNotFound):
        raise UnknownToken from None
