"""Tokens of attempts that end by callback: `executionId.attempt.secret`, the right to say how the attempt went.

A claim's `claimant` is the digest of the secret. So the claim is written before the token is sent, whoever reads the
record learns no token, and a token counts exactly as long as its claim stands.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

import msgspec

_TOKEN = re.compile(r"(?P<execution>.{1,900})\.(?P<attempt>[0-9]{1,9})\.(?P<secret>[A-Za-z0-9_-]{22})", re.ASCII)


class InvalidToken(ValueError):
    """The text is no token of an attempt."""


class Token(msgspec.Struct, frozen=True):
    """The parts of a token."""

    execution_id: str
    attempt: int
    secret: str

    def __str__(self) -> str:
        return f"{self.execution_id}.{self.attempt}.{self.secret}"

    def __repr__(self) -> str:
        """Without the secret: it must not reach a log."""
        return f"Token({self.execution_id!r}, {self.attempt})"

    @property
    def claimant(self) -> str:
        """The claimant of the claim that it belongs to."""
        return claimant_of(self.secret)

    def belongs_to(self, claimant: str | None) -> bool:
        """Whether it is the token of the claim with this claimant. Takes as long for a near miss as for a far one."""
        known = (self.claimant, "t" + hashlib.sha256(self.secret.encode()).hexdigest())
        fits = [claimant is not None and hmac.compare_digest(one, claimant) for one in known]
        return any(fits)  # Both are compared, whichever fits.


def claimant_of(secret: str) -> str:
    """The claimant of the claim whose token has this secret: 128 bits of its digest, as many as the secret has.

    It is short, since a record has to fit into one write unit. Earlier builds kept the digest whole, in hexadecimal.
    """
    digest = hashlib.sha256(secret.encode()).digest()[:16]
    return "t" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def decode_token(text: str) -> Token:
    """The parts of a token. Raises InvalidToken."""
    match = _TOKEN.fullmatch(text)
    if match is None:
        raise InvalidToken("not a token")
    return Token(match["execution"], int(match["attempt"]), match["secret"])
