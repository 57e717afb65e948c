"""Sessions of browsers: the link that opens one, the cookie that proves one, and the token of its forms."""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable, Iterator
from threading import Lock

#: A session ends so many seconds after its link was opened. It also ends with the process.
LASTS_SECONDS = 12 * 3600
#: More browsers than this are no user's: the oldest session ends.
_MOST_SESSIONS = 32
_LINK_BYTES = 24


class Sessions:
    """The sessions of one console, which listens at `port`. `clock` tells seconds that never go back."""

    def __init__(self, port: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.cookie = f"clockwork-{port}"
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        self._ends_at: dict[str, float] = {}
        self._link: str | None = None
        self._lock = Lock()

    def new_link(self) -> str:
        """A token that opens one session. The token before it opens none any more."""
        with self._lock:
            self._link = secrets.token_urlsafe(_LINK_BYTES)
            return self._link

    def enter(self, token: str) -> str | None:
        """The new session of a token, which is used up by this; None for any other text."""
        with self._lock:
            if self._link is None or not _is_same(token, self._link):
                return None
            self._link = None
            self._drop_ended()
            while len(self._ends_at) >= _MOST_SESSIONS:
                del self._ends_at[min(self._ends_at, key=self._ends_at.__getitem__)]
            session = secrets.token_urlsafe(32)
            self._ends_at[session] = self._clock() + LASTS_SECONDS
            return session

    def of(self, cookie_header: str) -> str | None:
        """The session that a Cookie header proves, or None.

        A program at another port of this machine can set a cookie of the same name beside ours. Each one is tried.
        """
        given = list(_values(cookie_header, self.cookie))
        with self._lock:
            self._drop_ended()
            return next((one for one in self._ends_at for value in given if _is_same(value, one)), None)

    def form_token(self, session: str, path: str) -> str:
        """The token that a form of this session carries when it is sent to this path."""
        return hmac.new(self._secret, f"{session}\n{path}".encode("utf-8", "surrogatepass"), "sha256").hexdigest()

    def is_form_token(self, token: str, session: str, path: str) -> bool:
        """Whether a form of this session carried the token of this path."""
        return _is_same(token, self.form_token(session, path))

    def _drop_ended(self) -> None:
        now = self._clock()
        for one in [one for one, at in self._ends_at.items() if at <= now]:
            del self._ends_at[one]


def _values(header: str, name: str) -> Iterator[str]:
    for part in header.split(";"):
        key, _, value = part.strip().partition("=")
        if key == name:
            yield value


def _is_same(given: str, wanted: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())
