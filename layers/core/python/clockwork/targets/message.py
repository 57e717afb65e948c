"""The message of one attempt: the payload, and the facts that a target gets with it."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import Any, Literal

import msgspec

from clockwork.domain.instants import to_text

#: Characters that no text message may hold:
#: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html
#: (By the characters that it may hold, the pattern would be the same and take 3 ms of a cold start to compile.)
_NOT_IN_A_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


#: The bytes of the largest result that a record keeps, and of the longest error.
LARGEST_RESULT = 32 * 1024
LONGEST_ERROR = 4 * 1024
#: As deep as a report may be. A result that can just be decoded here might not be where its run goes on.
DEEPEST_RESULT = 64
NOT_JSON, DEEP = "is not JSON", f"is more than {DEEPEST_RESULT} objects and lists deep"


class Payload(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The bytes to deliver: compact JSON in UTF-8, or (`is_text`) a string as it is."""

    body: bytes
    is_text: bool = False


class Errand(StrEnum):
    """A call about what an earlier attempt began at a target that says when it ends."""

    ASK = "ask"  # how it goes
    STOP = "stop"  # how it goes; if it runs, it is to stop


class Message(msgspec.Struct, frozen=True):
    """The content of an attempt; `due_at` in ms. `token`: under which its receiver calls back, if it is to.

    `run` and `node`: of a workflow's node, the executionId of its run and its name. `begun`: so many earlier attempts
    began something at the target that has ended since. `run_at`: when this attempt was to start (ms).
    """

    execution_id: str
    job_id: str
    attempt: int
    due_at: int
    payload: Payload
    token: str | None = None
    run: str | None = None
    node: str | None = None
    begun: int = 0
    run_at: int | None = None

    @property
    def facts(self) -> dict[str, str | int]:
        """The receiver gets these beside the payload, by the names that receivers know."""
        facts: dict[str, str | int] = {"executionId": self.execution_id, "jobId": self.job_id}
        facts |= {"attempt": self.attempt, "dueAt": to_text(self.due_at)}
        if self.run is not None and self.node is not None:
            facts |= {"run": self.run, "node": self.node}
        return facts if self.token is None else facts | {"token": self.token}


class Told(msgspec.Struct, frozen=True):
    """The word of a service on what an attempt began under the name `name`; `error` says how it failed.

    `result`: the JSON of a success, at most LARGEST_RESULT bytes. A larger one is left out, and `error` says that.
    `execution_id`: what an event claims to be about, which nothing proves; empty: the service was asked.
    """

    name: str
    status: Literal["running", "unknown", "succeeded", "failed"]
    result: bytes | None = None
    error: str | None = None
    execution_id: str = ""


def kept_result(text: str | None) -> tuple[bytes | None, str | None]:
    """The result to keep of a success whose service tells this JSON, or why none is kept. None: it was too long."""
    if text is None or len(result := text.encode(errors="replace")) > LARGEST_RESULT:
        return None, f"its output is not kept: it has more than {LARGEST_RESULT:,} bytes"
    if (fault := fault_of_result(result)) is not None:
        return None, f"its output is not kept: it {fault}"
    return result, None


def fault_of_result(result: bytes) -> str | None:
    """Why a result is not kept, as the end of a sentence; None if it is."""
    try:
        value = msgspec.json.decode(result)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return NOT_JSON
    return DEEP if _is_deep(value) else None


def cut(error: str) -> str:
    """The beginning of an error, as much as is kept."""
    return error.encode(errors="replace")[:LONGEST_ERROR].decode(errors="ignore")


def envelope_of(message: Message) -> bytes:
    """The facts and the payload, as a JSON value, in one JSON object in UTF-8, for targets without headers."""
    head = json.dumps(message.facts, separators=(",", ":"))[:-1].encode()
    return head + b',"payload":' + json_of(message.payload) + b"}"


def json_of(payload: Payload) -> bytes:
    """The payload as a JSON value. A text becomes a JSON string, escaped as needed."""
    return json.dumps(payload.body.decode(), ensure_ascii=False).encode() if payload.is_text else payload.body


def stray_of(text: str) -> re.Match[str] | None:
    """The first character that no text message may hold."""
    return _NOT_IN_A_TEXT.search(text)


def _is_deep(result: Any) -> bool:
    level = [result]
    for _ in range(DEEPEST_RESULT + 1):
        whole = [one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        if not whole:
            return False
        level = [inner for one in whole for inner in one]
    return True
