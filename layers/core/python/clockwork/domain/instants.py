"""Instants: UTC as whole epoch milliseconds inside, RFC 3339 with a zone on the wire."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MILLISECOND = timedelta(milliseconds=1)
#: The last instant that 13 digits hold; timeline keys are compared as text.
LAST = 9_999_999_999_999


def to_text(at: int) -> str:
    """`1777975200250` (ms) -> `2026-05-05T10:00:00.250Z`."""
    return (EPOCH + at * MILLISECOND).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1000:03d}Z"


def from_text(text: str) -> int:
    """RFC 3339 with a zone -> ms; what is finer than a millisecond is cut. Raises ValueError saying what is wrong."""
    if "T" not in text.upper():
        raise ValueError("must be RFC 3339, for example 2026-05-05T10:00:00.250Z")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("must be RFC 3339, for example 2026-05-05T10:00:00.250Z") from None
    if moment.tzinfo is None:
        raise ValueError("has no time zone: end it with Z or an offset such as +02:00")
    return (moment - EPOCH) // MILLISECOND
