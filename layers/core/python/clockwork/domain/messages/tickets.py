"""Tickets: the messages in the queues of pools, which workers receive and hand to the api with their claims.

A ticket is one of our own releases, with a code (MAC) that only this deployment can make. It proves that the release
was sent for this pool at this priority, and no more: whether it still counts, the record decides.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

import msgspec

from clockwork.domain.ids import netstrings
from clockwork.targets.pool import Priority

#: The version of the form of a ticket.
VERSION = 1
#: A ticket is good for so long after it was sent (ms): a queue keeps none of them for longer than 14 days.
GOOD_FOR_MS = 15 * 86_400_000


class InvalidTicket(ValueError):
    """The text is no ticket of this pool that this deployment has sent within GOOD_FOR_MS."""


class Ticket(msgspec.Struct, frozen=True, rename="camel"):
    """A release on its way to a worker: its encoded text, where and when (ms) it was sent, and the code of all of it.

    Priorities are named as in targets.
    """

    pool: str
    priority: Priority
    sent_at: int
    release: str
    mac: str = ""
    v: int = VERSION


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Ticket)


def sealed(ticket: Ticket, key: str) -> str:
    """The text of a ticket, with its code under `key`."""
    return _encoder.encode(msgspec.structs.replace(ticket, mac=_mac(ticket, key))).decode()


def is_ticket(text: str) -> bool:
    """Whether the text of a message looks like a ticket. A message of a release queue never does."""
    return text.startswith("{")


def opened(text: str, keys: Sequence[str], now: int, pool: str | None = None) -> Ticket:
    """The ticket, if one of the keys made its code. `pool`: the one that it has to be for. Raises InvalidTicket.

    The text may be anything, from any caller.
    """
    try:
        ticket = _decoder.decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise InvalidTicket("it is no ticket") from None
    # Each is compared, whichever fits.
    fits = [hmac.compare_digest(_mac(ticket, key).encode(), ticket.mac.encode()) for key in keys]
    if ticket.v != VERSION or not any(fits):
        raise InvalidTicket("its code is not that of this deployment")
    if pool is not None and ticket.pool != pool:
        raise InvalidTicket("it is for another pool")
    if now > ticket.sent_at + GOOD_FOR_MS:
        raise InvalidTicket("it is too old")
    return ticket


def _mac(ticket: Ticket, key: str) -> str:
    """The code of all fields."""
    fields = (str(ticket.v), ticket.pool, ticket.priority, str(ticket.sent_at), ticket.release)
    return hmac.new(key.encode(), netstrings(field.encode() for field in fields), hashlib.sha256).hexdigest()
