"""Who listens to the calls of a data plane: a meter, a test, or nobody."""

from __future__ import annotations

from typing import Any, Protocol

from clockwork.aws.plane.connections import Answer
from clockwork.aws.plane.plane import Outcome
from clockwork.aws.plane.signing import Headers


class Watcher(Protocol):
    """Told of each call in turn. What it raises in `asked` or `sending` is the outcome of that call."""

    def asked(self, operation: str, asked: dict[str, Any], /) -> tuple[Any, dict[str, Any] | None]:
        """A call is wanted, and may be changed here; what to tell of it later, and its answer if none is to be sent."""

    def sending(self, told: Any, authority: str, headers: Headers, body: bytes, /) -> Answer | None:
        """A try is about to be sent; its answer if it is not to be sent. May raise what the network would raise."""

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
