"""One HTTP exchange. `Transport` is the seam where tests stand in for the network; `Urllib3` is the real one."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from urllib3 import BaseHTTPResponse, HTTPConnectionPool

#: No answer of the API is larger: a Lambda answers 6 MB at most.
LARGEST_ANSWER = 16 * 1024 * 1024
_CHUNK = 256 * 1024
#: The most connections that are kept: as many as a worker's threads need together.
_CONNECTIONS = 64
_START = "`make dev` starts the development server, and prints its URL"


class Request(NamedTuple):
    """A signed request. `timeout` is in seconds, for the whole exchange."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None
    timeout: float

    def __repr__(self) -> str:
        """Without headers and body, which have secrets: they must not reach a log."""
        return f"Request({self.method!r}, {self.url!r})"


class Response(NamedTuple):
    """An answer, whatever its status. Look headers up in lower case."""

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


def is_here(origin: str) -> bool:
    """Whether an origin is on this machine."""
    return urlsplit(origin).hostname in ("localhost", "127.0.0.1", "::1")


def proxy_of(origin: str) -> str | None:
    """The environment's proxy for an origin; none for this machine itself, or for hosts that NO_PROXY lists."""
    parts = urlsplit(origin)
    if is_here(origin):
        return None
    if not any(os.environ.get(name) for name in (f"{parts.scheme}_proxy", f"{parts.scheme.upper()}_PROXY")):
        return None
    from urllib.request import getproxies, proxy_bypass

    return None if proxy_bypass(parts.netloc) else getproxies().get(parts.scheme)


class Urllib3:
    """A pool of kept-alive connections to the host of `url`.

    As for the AWS CLI, `AWS_CA_BUNDLE` names other certificates to trust, and `HTTPS_PROXY` and `NO_PROXY` the way out.
    """

    def __init__(self, url: str, connections: int = _CONNECTIONS) -> None:
        parts = urlsplit(url)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._connections = connections
        self._lock = Lock()
        self._pool: HTTPConnectionPool | None = None
        #: The place in a URL where the request target begins: the path, or the scheme for a proxy without a tunnel.
        self._begin = len(self._origin)
        self._faults: tuple[type[Exception], ...] = ()
        self._never_sent: type[Exception] = Exception

    def __call__(self, request: Request) -> Response:
        """Send a request once. Raises NoAnswer."""
        pool = self._pool or self._connect()
        ends_at = time.monotonic() + request.timeout
        try:
            answer = pool.urlopen(
                request.method,
                request.url[self._begin :],
                body=request.body,
                headers=request.headers,
                retries=False,
                redirect=False,
                assert_same_host=False,
                timeout=request.timeout,
                preload_content=False,
            )
            try:
                body = self._read(answer, ends_at)
            except BaseException:
                answer.close()
                raise
        except self._faults as error:
            raise self._no_answer(error) from error
        return Response(answer.status, answer.headers, body)

    def _no_answer(self, error: Exception) -> NoAnswer:
        if not isinstance(error, self._never_sent):
            return NoAnswer(str(error))
        if is_here(self._origin) and isinstance(error.__cause__, ConnectionRefusedError):
            return NoAnswer(f"nothing listens at {self._origin}. {_START}", was_sent=False)
        # urllib3 names its own object first, which tells a reader nothing.
        return NoAnswer(str(error).rpartition("): ")[2] or str(error), was_sent=False)

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
                is_https = self._origin.startswith("https:")
                more: dict[str, Any] = {"maxsize": self._connections}
                if trusted and is_https:
                    more["ca_certs"] = trusted
                self._faults, self._never_sent = (HTTPError, OSError), NewConnectionError
                proxy = proxy_of(self._origin)
                if proxy is None:
                    self._pool = urllib3.connection_from_url(self._origin, **more)
                else:
                    name = unquote(urlsplit(proxy).netloc.rpartition("@")[0])
                    headers = urllib3.make_headers(proxy_basic_auth=name) if name else None
                    manager = urllib3.ProxyManager(proxy, proxy_headers=headers, **more)
                    self._begin = len(self._origin) if is_https else 0
                    self._pool = manager.connection_from_url(self._origin)
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
