"""Tokens of attempts that end by callback: `executionId.attempt.secret`, the right to report the attempt's end.

A claim's `claimant` is the digest of the secret. The claim is written before the token is sent, a reader of the record
learns no token, and a token counts exactly as long as its claim.

A token of a worker, and one that may come unsigned, ends with `.check`, a code that only this deployment can make. The
code covers the use of the token, so a token of a pool counts for its workers alone. It proves nothing about the
attempt: the api refuses made-up tokens by it, before any read.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Sequence

import msgspec

from clockwork.domain.ids import netstrings

#: Longer than any token, whose executionId has at most 800 characters.
LONGEST_TOKEN = 1_000
_SECRET, _CHECK = "[A-Za-z0-9_-]{22}", "[A-Za-z0-9_-]{11}"
_TOKEN = re.compile(
    rf"(?P<execution>.{{1,900}})\.(?P<attempt>[1-9][0-9]{{0,8}})\.(?P<secret>{_SECRET})(?:\.(?P<check>{_CHECK}))?",
    re.ASCII,
)


class InvalidToken(ValueError):
    """The text is no token of an attempt."""


class Token(msgspec.Struct, frozen=True):
    """The parts of a token."""

    execution_id: str
    attempt: int
    secret: str
    #: Empty: it counts from a signed receiver alone.
    check: str = ""

    def __str__(self) -> str:
        text = f"{self.execution_id}.{self.attempt}.{self.secret}"
        return f"{text}.{self.check}" if self.check else text

    def __repr__(self) -> str:
        """Without the secret: it must not reach a log."""
        return f"Token({self.execution_id!r}, {self.attempt})"

    @property
    def claimant(self) -> str:
        """The claimant of the claim that it belongs to."""
        return claimant_of(self.secret)

    def checked(self, key: str, pool: str | None = None) -> Token:
        """The same token with its check under one of the deployment's keys: for the workers of a pool, or unsigned."""
        return msgspec.structs.replace(self, check=self._check(key, pool))

    def is_checked(self, keys: Sequence[str], pool: str | None = None) -> bool:
        """Whether its check was made for workers of this pool, or for unsigned reports, under one of these keys.

        Takes as long for a near miss as for a far one.
        """
        fits = [hmac.compare_digest(self._check(key, pool), self.check) for key in keys]
        return any(fits)  # Each is compared, whichever fits.

    def _check(self, key: str, pool: str | None) -> str:
        """Eight bytes of a code of use and parts. No ticket has a code of such bytes."""
        use = ("completion",) if pool is None else ("pool", pool)
        parts = (*use, self.execution_id, str(self.attempt), self.secret)
        digest = hmac.new(key.encode(), netstrings(part.encode() for part in parts), hashlib.sha256).digest()[:8]
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def belongs_to(self, claimant: str | None) -> bool:
        """Whether it is the token of the claim with this claimant. Takes as long for a near miss as for a far one."""
        return claimant is not None and hmac.compare_digest(self.claimant, claimant)


def claimant_of(secret: str) -> str:
    """The claimant of the claim whose token has this secret: 128 bits of its digest, as many as the secret has.

    It is short, since a record has to fit into one write unit.
    """
    digest = hashlib.sha256(secret.encode()).digest()[:16]
    return "t" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def decode_token(text: str) -> Token:
    """The parts of a token. Raises InvalidToken."""
    match = _TOKEN.fullmatch(text) if len(text) <= LONGEST_TOKEN else None
    if match is None:
        raise InvalidToken("not a token")
    return Token(match["execution"], int(match["attempt"]), match["secret"], match["check"] or "")
