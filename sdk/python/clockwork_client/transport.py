"""One HTTP exchange. `Transport` is the seam where tests stand in for the network; `Urllib3` is the real one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, HTTPConnectionPool

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
    """The exchange failed. `may_be_done` is False if the request certainly never reached the other side."""

    retry_after: float | None = None

    def __init__(self, message: str, *, was_sent: bool = True) -> None:
        super().__init__(message)
        self.may_be_done = was_sent


#: Sends a request once, follows no redirect, and raises NoAnswer; called from several threads at once.
Transport = Callable[[Request], Response]


class Urllib3:
    """A pool of kept-alive connections to the host of `url`. `AWS_CA_BUNDLE` names other certificates to trust."""

    def __init__(self, url: str, connections: int = 10) -> None:
        parts = urlsplit(url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._connections = connections
        self._lock = Lock()
        self._pool: HTTPConnectionPool | None = None
        self._faults: tuple[type[Exception], ...] = ()
        self._never_sent: type[Exception] = Exception

    def __call__(self, request: Request) -> Response:
        """Send a request once. Raises NoAnswer."""
        pool = self._pool or self._connect()
        ends_at = time.monotonic() + request.timeout
        try:
            answer = pool.urlopen(
                request.method,
                request.url[len(self._origin) :],
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
        except self._faults as error:
            raise NoAnswer(str(error), was_sent=not isinstance(error, self._never_sent)) from error
        return Response(answer.status, answer.headers, body)

    def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            self._pool.close()

    def _connect(self) -> HTTPConnectionPool:
        import urllib3
        from urllib3.exceptions import HTTPError, NewConnectionError

        with self._lock:
            if self._pool is None:
                trusted = os.environ.get("AWS_CA_BUNDLE")
                more = {"ca_certs": trusted} if trusted and self._origin.startswith("https:") else {}
                self._faults, self._never_sent = (HTTPError, OSError), NewConnectionError
                self._pool = urllib3.connection_from_url(self._origin, maxsize=self._connections, **more)
            return self._pool

    @staticmethod
    def _read(answer: BaseHTTPResponse, ends_at: float) -> bytes:
        """The whole body. Each `read1` waits for one packet at most, so that a trickle cannot outlast the timeout."""
        body = answer.read1(_CHUNK)
        if answer.length_remaining == 0:
            return body
        chunks, size = [body], len(body)
        while body:
            if size > LARGEST_ANSWER:
                raise NoAnswer(f"the answer has more than {LARGEST_ANSWER:,} bytes")
            if time.monotonic() > ends_at:
                raise NoAnswer("the answer did not end in time")
            body = answer.read1(_CHUNK)
            chunks.append(body)
            size += len(body)
        return b"".join(chunks)
