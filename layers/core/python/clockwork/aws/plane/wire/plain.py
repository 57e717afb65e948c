"""Answers, and the heads of plain ones, read without an HTTP library; nearly all answers of AWS are plain.

A plain head is a status of HTTP/1.1 and lines of printable ASCII, each name once, with the length of the body in
digits. Nobody can read it in two ways. `head_of` says None to any other head. The standard library then reads the
answer (`odd.py`), so that limits and errors are those of `http.client`. These heads are odd:

- a head that came in pieces, or is longer than `MOST_BYTES`, or has more lines than `MOST_LINES`;
- a name twice, a folded line, a control character, a byte beyond ASCII;
- chunks, a length that is missing or has a sign;
- the statuses 1xx, which are no answer yet, and 204 and 304, which have no body.
"""

from __future__ import annotations

import re

import msgspec

MOST_BYTES = 16_384
MOST_LINES = 64
#: The most digits of a length.
MOST_DIGITS = 9
_END = b"\r\n\r\n"
_STATUS = re.compile(r"HTTP/1\.1 ([2-5][0-9][0-9])(?: [ -~]*)?")
_LINE = re.compile(r"^([!-9;-~]+): *([ -~]*)\r$", re.MULTILINE)
_WITHOUT_BODY = frozenset({"204", "304"})


class Answer(msgspec.Struct, frozen=True):
    """An answer as it came. The names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Head(msgspec.Struct, frozen=True):
    """A plain head; the names of headers are in lower case."""

    status: int
    headers: dict[str, str]
    #: Where the body begins in the bytes that were received, and how long it is.
    begins: int
    length: int
    #: Whether the service closes the connection after the answer.
    closes: bool


def head_of(received: bytes) -> Head | None:
    """The head with which these bytes begin; None if it is odd."""
    end = received.find(_END, 0, MOST_BYTES)
    first, _, rest = received[: end + 2].decode("latin-1").partition("\r\n")
    status, lines = _STATUS.fullmatch(first), _LINE.findall(rest)
    if end < 0 or status is None or not len(lines) == rest.count("\n") <= MOST_LINES:
        return None
    headers = {name.lower(): value for name, value in lines}
    length = headers.get("content-length", "")
    if len(headers) < len(lines) or "transfer-encoding" in headers or status[1] in _WITHOUT_BODY:
        return None
    if not length.isdigit() or len(length) > MOST_DIGITS:
        return None
    return Head(int(status[1]), headers, end + len(_END), int(length), "close" in headers.get("connection", "").lower())
