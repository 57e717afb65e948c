"""Instants: UTC as whole epoch milliseconds inside, RFC 3339 with a zone on the wire."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
#: The last instant that 13 digits hold; timeline keys are compared as text.
LAST = 9_999_999_999_999
_RFC_3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?"
)


def to_text(at: int) -> str:
    """`1777975200250` (ms) -> `2026-05-05T10:00:00.250Z`."""
    return (EPOCH + at * MILLISECOND).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1000:03d}Z"


def date_of(at: int) -> date:
    """The day of UTC in which an instant (ms) lies."""
    return (EPOCH + at * MILLISECOND).date()


def from_text(text: str) -> int:
    """RFC 3339 with a zone -> ms, finer fractions cut off. Raises ValueError with a message that names the fault."""
    match = _RFC_3339.fullmatch(text.upper())
    if match is not None and match["zone"] is None:
        raise ValueError("has no time zone: end it with Z or an offset such as +02:00")
    try:
        moment = datetime.fromisoformat(match[0] if match is not None else "")
    except ValueError:
        raise ValueError("must be RFC 3339, for example 2026-05-05T10:00:00.250Z") from None
    return (moment - EPOCH) // MILLISECOND
