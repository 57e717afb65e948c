"""Results of nodes that their targets answer: the body of an HTTP answer, if that is JSON and not too large."""

from __future__ import annotations

import msgspec

from clockwork.domain.executions import Outcome, State
from clockwork.targets.message import LARGEST_RESULT, fault_of_result

TOO_LARGE = f"its answer has no end within {LARGEST_RESULT:,} bytes"


def with_result(outcome: Outcome, body: bytes, *, is_whole: bool) -> Outcome:
    """The outcome of a node's attempt with the body of the answer as its result, or the reason why that is not kept.

    `is_whole`: `body` is all of the answer. An answer without a body has no result, for no reason.
    """
    if outcome.state is not State.SUCCEEDED or (is_whole and not body):
        return outcome
    if not is_whole:
        return msgspec.structs.replace(outcome, error=TOO_LARGE)
    if (fault := fault_of_result(body)) is not None:
        return msgspec.structs.replace(outcome, error=f"its answer {fault}")
    return msgspec.structs.replace(outcome, answer=body)
