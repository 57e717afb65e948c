"""Results of nodes that their targets answer: the body of an HTTP answer, if that is JSON and not too large."""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import Outcome, State

#: The bytes of the largest result that a record keeps: as of a report.
LARGEST_RESULT = 32 * 1024
TOO_LARGE = f"its answer has no end within {LARGEST_RESULT:,} bytes"
NO_JSON = "its answer is not JSON"


def with_result(outcome: Outcome, body: bytes, *, is_whole: bool) -> Outcome:
    """The outcome of a node's attempt with the body of the answer as its result, or the reason why that is not kept.

    `is_whole`: `body` is all of the answer. An answer without a body has no result, for no reason.
    """
    if outcome.state is not State.SUCCEEDED or (is_whole and not body):
        return outcome
    if not is_whole:
        return msgspec.structs.replace(outcome, error=TOO_LARGE)
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.structs.replace(outcome, error=NO_JSON)
    return msgspec.structs.replace(outcome, answer=body)
