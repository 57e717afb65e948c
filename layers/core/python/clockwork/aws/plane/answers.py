"""Answers of AWS's JSON protocol as botocore gives them: a dict, or its ClientError.

How they lie: the bytes were damaged on their way, are cut off, are no JSON, have members of another type or null. An
answer that cannot be read is no answer (NoAnswer), also where botocore would take it for one that says nothing: it
could stand for "there is no such item".
"""

from __future__ import annotations

import zlib
from http import HTTPStatus
from typing import Any, NamedTuple

import msgspec

from clockwork.aws import botocore_errors, late
from clockwork.aws.plane.shapes import Refused
from clockwork.aws.plane.wire.plain import Answer

_CRC = "x-amz-crc32"
#: The member of a refusal that tells why DynamoDB throttles: each of its exceptions spells it in its own way.
_REASONS = {
    "ProvisionedThroughputExceededException": "ThrottlingReasons",
    "RequestLimitExceeded": "ThrottlingReasons",
    "ThrottlingException": "throttlingReasons",
}
_CONDITION_FAILED = "ConditionalCheckFailedException"


class Try(NamedTuple):
    """One try of a call: its service and operation, its number counted from 1, and how many there may be."""

    service: str
    operation: str
    number: int
    most: int


def read(decoder: msgspec.json.Decoder[Any], answer: Answer, tried: Try) -> dict[str, Any]:
    """The answer of an operation. Raises ClientError, ChecksumError or ResponseParserError."""
    if tried.service == "dynamodb" and (expected := answer.headers.get(_CRC)) is not None:
        _check_sum(answer.body, expected)
    if answer.status >= 300:
        raise _refusal(answer, tried)
    try:
        return decoder.decode(answer.body)  # type: ignore[no-any-return]
    except msgspec.ValidationError:
        return _without_nulls(decoder, answer.body, tried.operation)
    except ValueError as error:
        raise _unreadable(tried.operation) from error


def _check_sum(body: bytes, expected: str) -> None:
    if (actual := str(zlib.crc32(body))) != expected.strip():
        raise botocore_errors.ChecksumError(checksum_type="CRC32", expected_checksum=expected, actual_checksum=actual)


def _without_nulls(decoder: msgspec.json.Decoder[Any], body: bytes, operation: str) -> dict[str, Any]:
    """The answer as if members that are null were left out, as botocore reads it."""
    try:
        return decoder.decode(msgspec.json.encode(_said(msgspec.json.decode(body))))  # type: ignore[no-any-return]
    except ValueError as error:
        raise _unreadable(operation) from error


def _said(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _said(member) for name, member in value.items() if member is not None}
    return [_said(member) for member in value] if isinstance(value, list) else value


def _unreadable(operation: str) -> Exception:
    return late.parser_error(f"the answer to {operation} cannot be read")


def _refusal(answer: Answer, tried: Try) -> Exception:
    metadata: dict[str, Any] = {"HTTPStatusCode": answer.status, "HTTPHeaders": answer.headers}
    if "x-amzn-requestid" in answer.headers:
        metadata["RequestId"] = answer.headers["x-amzn-requestid"]
    metadata["RetryAttempts"] = tried.number - 1
    if tried.number >= tried.most:
        metadata["MaxAttemptsReached"] = True
    error, more = _told(answer)
    response: Any = {"Error": error, "ResponseMetadata": metadata, **more}
    return botocore_errors.ClientError(response, tried.operation)


def _told(answer: Answer) -> tuple[Any, dict[str, Any]]:
    """The content of a refusal: code and message, and the stored item if a condition did not hold."""
    body = answer.body.strip()
    if answer.status >= 500 and (not body or body.startswith(b"<html>")):
        return {"Code": str(answer.status), "Message": _phrase(answer.status)}, {}
    told = _members(body)
    code = _text(told.get("__type")) or str(answer.status)
    error = {"Message": _text(told.get("message", told.get("Message")))}
    code = code.split(":", 1)[0].rpartition("#")[2]
    old_code, separator, kind = answer.headers.get("x-amzn-query-error", "").partition(";")
    if old_code and separator and ";" not in kind:
        error |= {"QueryErrorCode": code, "Type": kind}
        code = old_code
    if code == _CONDITION_FAILED:
        return {**error, "Code": code}, _item_of(answer.body)
    reasons = told.get(name := _REASONS.get(code, ""))
    return {**error, "Code": code}, {} if reasons is None else {name: reasons}


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def _members(body: bytes) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(body) if body else {}
    except ValueError:
        told = None
    return told if isinstance(told, dict) else {"message": body.decode("utf-8", "replace")}


def _item_of(body: bytes) -> dict[str, Any]:
    """The stored item of a refused write, which is left out if there is none."""
    try:
        return dict(msgspec.json.decode(body, type=Refused))
    except msgspec.ValidationError:
        return {}


def _text(value: Any) -> str:
    return "" if value is None else str(value)
