"""Errors of the client in words: what happened, what to do, and which command does it."""

from __future__ import annotations

from typing import NamedTuple

from clockwork_client.errors import (
    ClockworkError,
    Conflict,
    Invalid,
    NotAllowed,
    NotConfigured,
    NotFound,
    NotReached,
    Refused,
    TooManyRequests,
)

#: Words of AWS about keys that are no longer good.
_EXPIRED = ("expired", "security token", "unrecognizedclient", "cannot be refreshed", "no aws credentials")


class Problem(NamedTuple):
    """An error as a page tells it. `kind` is one of offline, credentials, denied, missing, busy, refused, unsure.

    `command` helps, and `faults` are pairs of a field's pointer and its fault. `wait` is in seconds.
    """

    kind: str
    title: str
    says: str
    command: str = ""
    status: int = 502
    faults: tuple[tuple[str, str], ...] = ()
    wait: float | None = None

    @property
    def is_of_all(self) -> bool:
        """Whether each other call would fail for the same reason."""
        return self.kind in ("offline", "credentials")


def problem_of(error: ClockworkError, profile: str | None = None) -> Problem:
    """The problem behind an error. `profile` is that of the AWS CLI, for the command that renews it."""
    if isinstance(error, Refused):
        return _refused(error, profile)
    if isinstance(error, NotReached):
        return Problem("offline", "The API cannot be reached", _first_line(error), "clockwork doctor", 503)
    if isinstance(error, NotConfigured):
        return _credentials(_first_line(error), profile)
    return Problem("unsure", "No certain answer came", _first_line(error), "clockwork doctor", 504)


def _refused(error: Refused, profile: str | None) -> Problem:
    if isinstance(error, NotAllowed):
        if _is_expired(error.detail):
            return _credentials(error.detail, profile)
        return Problem("denied", "Your role may not do this", error.detail, "clockwork whoami", 403)
    if isinstance(error, NotFound):
        return Problem("missing", "There is no such thing of yours", error.detail, status=404)
    if isinstance(error, TooManyRequests):
        wait = error.retry_after
        again = f" Again in {wait:g} s." if wait is not None else ""
        return Problem(
            "busy", "Too many calls at once", f"{error.detail}.{again}".replace("..", "."), status=429, wait=wait
        )
    if isinstance(error, Conflict):
        return Problem("refused", "It is not as this page showed it", error.detail, status=409)
    faults = tuple((one.pointer, one.detail) for one in error.faults)
    status = 422 if isinstance(error, Invalid) else 502
    return Problem("refused", "The API refused it", error.detail, status=status, faults=faults)


def _credentials(says: str, profile: str | None) -> Problem:
    if not _is_expired(says):
        return Problem("credentials", "The console is not set up", says, "clockwork doctor", 503)
    command = f"aws sso login --profile {profile}" if profile else "aws sso login"
    return Problem("credentials", "Your AWS credentials are missing or have expired", says, command, 503)


def _is_expired(text: str) -> bool:
    return any(one in text.lower() for one in _EXPIRED)


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
