"""Results of nodes that their targets answer: the body of an HTTP answer, if that is JSON and not too large."""

from __future__ import annotations

from typing import Any

import msgspec

from clockwork.domain.executions import Outcome, State
from clockwork.targets.message import LARGEST_RESULT

TOO_LARGE = f"its answer has no end within {LARGEST_RESULT:,} bytes"
NO_JSON = "its answer is not JSON"
#: As deep as a report may be. A result that can just be decoded here might not be where its run goes on.
DEEPEST_RESULT = 64
TOO_DEEP = f"its answer is more than {DEEPEST_RESULT} objects and lists deep"


def with_result(outcome: Outcome, body: bytes, *, is_whole: bool) -> Outcome:
    """The outcome of a node's attempt with the body of the answer as its result, or the reason why that is not kept.

    `is_whole`: `body` is all of the answer. An answer without a body has no result, for no reason.
    """
    if outcome.state is not State.SUCCEEDED or (is_whole and not body):
        return outcome
    if not is_whole:
        return msgspec.structs.replace(outcome, error=TOO_LARGE)
    try:
        result = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.structs.replace(outcome, error=NO_JSON)
    if _is_deep(result):
        return msgspec.structs.replace(outcome, error=TOO_DEEP)
    return msgspec.structs.replace(outcome, answer=body)


def _is_deep(result: Any) -> bool:
    level = [result]
    for _ in range(DEEPEST_RESULT + 1):
        whole = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        if not whole:
            return False
        level = [inner for one in whole for inner in one]
    return True
