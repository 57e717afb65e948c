"""The watcher of a data plane's calls: a meter, a test, or none."""

from __future__ import annotations

from typing import Any, Protocol

from clockwork.aws.plane.plane import Outcome
from clockwork.aws.plane.signing import Signed
from clockwork.aws.plane.wire.plain import Answer


class Watcher(Protocol):
    """Sees each call in turn. An exception in `asked` or `sending` is the outcome of that call."""

    def asked(self, operation: str, asked: dict[str, Any], /) -> tuple[Any, dict[str, Any] | None]:
        """A call is wanted, and may be changed here.

        Returns the watcher's notes on the call, and an answer if no request is to be sent.
        """

    def sending(self, told: Any, authority: str, signed: Signed, body: bytes, /) -> Answer | None:
        """A try is about to be sent. Returns an answer if the try is not to be sent. May raise network errors."""

    def answered(self, told: Any, answer: Answer, outcome: Outcome | None, /) -> None:
        """The last try was answered."""


class Unwatched:
    """Nobody listens."""

    def asked(self, _operation: str, _asked: dict[str, Any]) -> tuple[Any, dict[str, Any] | None]:
        return None, None

    def sending(self, *_: object) -> Answer | None:
        return None

    def answered(self, *_: object) -> None:
        pass
