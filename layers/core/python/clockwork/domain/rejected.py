"""Messages that ask for what cannot be."""

from __future__ import annotations

import msgspec


class Rejected(msgspec.Struct, frozen=True):
    """A message and why it is rejected, in words for its sender."""

    message_id: str
    lane: str
    body: bytes
    reason: str
