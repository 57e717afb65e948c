"""Reports on ended attempts, in a form that the API takes, whatever a handler returned or raised."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from clockwork_client.worker.logs import logger

log = logger(__name__)

#: The most bytes of a result or an error.
LARGEST = 32_768
#: The longest wait (s) that a failure may ask for.
LONGEST_WAIT = 86_400
#: A result is nested deeper by this in the call that brings it, whose frames count towards the encoder's limit too.
_DEEPER = 64
#: The characters of a refused error that are sent again.
_LESSER_ERROR = 1_000
_UNENCODABLE = (TypeError, ValueError, RecursionError)


def completion(result: Any) -> dict[str, Any]:
    """The outcome of a handler that returned. A result that cannot be kept is a failure that no retry would mend."""
    try:
        size = _size(result)
    except _UNENCODABLE as error:
        return failure(f"the work is done, and its result is no JSON: {error}", retryable=False)
    if size > LARGEST:
        return failure(f"the work is done, and its result has {size:,} bytes, more than {LARGEST:,}", retryable=False)
    return {"outcome": "complete"} if result is None else {"outcome": "complete", "result": result}


def failure(error: str, *, retryable: bool = True, retry_after: float | timedelta | None = None) -> dict[str, Any]:
    """The outcome of a handler that failed."""
    cut = error.encode("utf-8", "replace")[:LARGEST].decode("utf-8", "ignore") or "no error was given"
    said: dict[str, Any] = {"outcome": "fail", "error": cut}
    if not retryable:
        said["retryable"] = False
    if (seconds := _wait(retry_after)) is not None:
        said["retryAfterSeconds"] = seconds
    return said


def text_of(error: BaseException) -> str:
    """The text of an exception, also of one that cannot be printed."""
    try:
        return str(error)
    except BaseException:
        log.exception("a %s has no text", type(error).__name__)
        return "its text cannot be made"


def is_encodable(outcome: dict[str, Any]) -> bool:
    """Whether it can be sent at all. A result that the handler still changes may have lost that."""
    try:
        _size(outcome)
    except _UNENCODABLE:
        return False
    return True


def lesser(outcome: dict[str, Any], why: str) -> dict[str, Any] | None:
    """A shorter report in place of one that was refused for its body; None if there is none shorter."""
    if outcome["outcome"] == "complete":
        return failure(f"the result was refused: {why}", retryable=False)
    if outcome["outcome"] != "fail":
        return None
    error = str(outcome["error"]).encode("ascii", "backslashreplace")[:_LESSER_ERROR].decode()
    bare = failure(error, retryable=outcome.get("retryable", True))
    return None if bare == outcome else bare


def _size(value: Any) -> int:
    """The bytes of a value's JSON. Raises one of _UNENCODABLE."""
    for _ in range(_DEEPER):
        value = [value]
    encoded = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    return len(encoded) - 2 * _DEEPER


def _wait(retry_after: object) -> float | None:
    """A wait (s) in the API's form. A value that is no time is left out: the failure is reported all the same."""
    if retry_after is None:
        return None
    asked = retry_after.total_seconds() if isinstance(retry_after, timedelta) else retry_after
    try:
        if isinstance(asked, (str, bytes, bool)):
            raise TypeError("it is no number")
        seconds = float(asked)  # type: ignore[arg-type]
        if seconds != seconds:
            raise ValueError("it is no number")
    except (TypeError, ValueError, OverflowError) as error:
        log.error("a failure asks for a wait of %r, which is left out: %s", asked, error)
        return None
    taken = min(max(seconds, 0.0), float(LONGEST_WAIT))
    if taken != seconds:
        log.warning("a failure asks for a wait of %r s; it is told as %g s", asked, taken)
    return taken
