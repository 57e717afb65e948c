"""One HTTP exchange. `Transport` is the seam where tests stand in for the network; `Urllib3` is the real one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool

#: No answer of the API is larger: a Lambda answers 6 MB at most.
LARGEST_ANSWER = 16 * 1024 * 1024
_CHUNK = 256 * 1024


class Request(NamedTuple):
    """A signed request. `timeout` is in seconds, for the whole exchange."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    timeout: float


class Response(NamedTuple):
    """An answer, whatever its status. Headers are asked for in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class NoAnswer(Exception):
    """The exchange failed. `was_sent` is False if the request certainly never reached the other side."""

    def __init__(self, message: str, *, was_sent: bool = True) -> None:
        super().__init__(message)
        self.was_sent = was_sent


#: Sends a request once, follows no redirect, and raises NoAnswer; called from several threads at once.
Transport = Callable[[Request], Response]


class Urllib3:
    """A pool of kept-alive connections to one host. `AWS_CA_BUNDLE` names other certificates to trust."""

    def __init__(self, url: str, connections: int = 10) -> None:
        self._url = url
        self._connections = connections
        self._lock = Lock()
        self._pool: HTTPConnectionPool | None = None

    def __call__(self, request: Request) -> Response:
        """Send a request once. Raises NoAnswer."""
        from urllib3.exceptions import HTTPError, NewConnectionError

        ends_at = time.monotonic() + request.timeout
        parts = urlsplit(request.url)
        try:
            answer = self._pooled().urlopen(
                request.method,
                f"{parts.path}?{parts.query}" if parts.query else parts.path,
                body=request.body,
                headers=request.headers,
                retries=False,
                redirect=False,
                timeout=request.timeout,
                preload_content=False,
            )
            try:
                body = self._read(answer, ends_at)
            except BaseException:
                answer.close()
                raise
        except (HTTPError, OSError) as error:
            raise NoAnswer(str(error), was_sent=not isinstance(error, NewConnectionError)) from error
        return Response(answer.status, answer.headers, body)

    def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            self._pool.close()

    def _pooled(self) -> HTTPConnectionPool:
        if self._pool is None:
            import urllib3

            with self._lock:
                if self._pool is None:
                    trusted = os.environ.get("AWS_CA_BUNDLE")
                    more = {"ca_certs": trusted} if trusted and self._url.startswith("https:") else {}
                    self._pool = urllib3.connection_from_url(self._url, maxsize=self._connections, **more)
        return self._pool

    @staticmethod
    def _read(answer: object, ends_at: float) -> bytes:
        """The whole body. Each `read1` waits for one packet at most, so that a trickle cannot outlast the timeout."""
        chunks, size = [], 0
        while chunk := answer.read1(_CHUNK):  # type: ignore[attr-defined]
            chunks.append(chunk)
            size += len(chunk)
            if size > LARGEST_ANSWER:
                raise NoAnswer(f"the answer has more than {LARGEST_ANSWER:,} bytes")
            if answer.length_remaining == 0:  # type: ignore[attr-defined]
                break
            if time.monotonic() > ends_at:
                raise NoAnswer("the answer did not end in time")
        return b"".join(chunks)
