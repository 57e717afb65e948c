"""The trace context of a webhook: the header `traceparent`, as W3C Trace Context has it.

https://www.w3.org/TR/trace-context/#traceparent-header
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

from clockwork.targets.message import Message

#: Lambda's own trace of the invocation:
#: https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader
_OF_LAMBDA = "_X_AMZN_TRACE_ID"
_ROOT = re.compile(r"(?:^|;)Root=1-(?!0{8}-0{24})([0-9a-f]{8})-([0-9a-f]{24})(?:;|\Z)")
_SAMPLED = re.compile(r"(?:^|;)Sampled=1(?:;|\Z)")


def headers_of(message: Message, kept: str, environment: Mapping[str, str]) -> dict[str, str]:
    """The header of one attempt: `kept`, the context of its create, or one of its own if that is empty.

    A context that was kept goes on as it is. Its span is known where traces are collected, and a span of the attempt
    would not be: the receiver's spans would have no parent there.

    A context of its own is in the trace of the invocation that makes the attempt, with a span for the attempt. Without
    a trace of Lambda, or with one that cannot be read, all attempts of an execution share a trace that is not sampled.
    The same attempt always has the same span.
    """
    if kept:
        return {"traceparent": kept}
    lambdas = environment.get(_OF_LAMBDA, "")
    root = _ROOT.search(lambdas)
    trace = root[1] + root[2] if root else _digest(message.execution_id)[:32]
    span = _digest(f"{message.execution_id} {message.attempt}")[:16]
    flags = "01" if root and _SAMPLED.search(lambdas) else "00"
    return {"traceparent": f"00-{trace}-{span}-{flags}"}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
