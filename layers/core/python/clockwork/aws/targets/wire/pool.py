"""The connections of a transport: made to checked addresses, and kept for the next delivery to the same receiver.

The addresses are resolved and checked for every delivery, and an idle connection is looked up by them. An idle
connection therefore leads only to an address to which a new one may lead at this moment.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable, Sequence

from clockwork.aws.targets.wire.connection import Connection
from clockwork.aws.targets.wire.sessions import Sessions
from clockwork.aws.targets.wire.sockets import TlsSocket, dial, seconds_left
from clockwork.aws.trust import trusting_the_system
from clockwork.targets.web.urls import Endpoint

#: An idle connection is used again only within this time, since its server may be about to close it. Of the widespread
#: servers Node.js closes first, after 5 s: https://nodejs.org/api/http.html#serverkeepalivetimeout
IDLE_SECONDS = 4.0
#: The longest use of a connection. An operator who moves a receiver to another address can wait for that long.
LONGEST_LIFE_SECONDS = 120.0
#: The most idle connections that are kept in all; the one unused for longest is closed first.
MOST_IDLE = 64

_Key = tuple[str, str, int, str]
#: An instant by both clocks: the monotonic one (s) may stand still with its environment, the other (ms) be set.
_At = tuple[float, int]


class _Kept:
    """A connection, its receiver, and the instant at which it was made."""

    def __init__(self, key: _Key, connection: Connection, at: _At, checked_at: int) -> None:
        self.key, self.connection = key, connection
        self.made_at = self.idle_since = at
        #: When (ms) the certificate was checked that it is good for.
        self.checked_at = checked_at


class Connections:
    """The connections of a transport, the idle ones by (scheme, host, port, address).

    The host is part of this key, so a connection made for one name is never used for another. `now`: the time of day
    (ms), which goes on while an environment is frozen.
    """

    def __init__(self, now: Callable[[], int], tls: ssl.SSLContext | None = None) -> None:
        self._now, self._tls = now, tls
        self._sessions = Sessions()
        self._lock = threading.Lock()
        self._idle: list[_Kept] = []  # in the order in which they were given back
        self._in_use: dict[Connection, _Kept] = {}

    def take(
        self, endpoint: Endpoint, addresses: Sequence[str], ends: float, allowance: int, *, fresh: bool = False
    ) -> Connection:
        """A connection to one of the addresses, an idle one if there is one; bounded by `ends` and `allowance`.

        `fresh`: a new one. Addresses that do not answer share the time that is left. Raises the OSError of the last
        address tried; after a fault of TLS no further address is tried.
        """
        kept = None if fresh else self._reuse({_key(endpoint, address) for address in addresses})
        kept = kept or self._connect(endpoint, addresses, ends)
        kept.connection.bound(ends, allowance)
        with self._lock:
            self._in_use[kept.connection] = kept
        return kept.connection

    def give_back(self, connection: Connection, *, reusable: bool) -> None:
        """Keep a connection for the next delivery to the same host and address, or close it.

        `reusable`: its answer was read to its end, and the receiver did not ask to close it.
        """
        with self._lock:
            kept = self._in_use.pop(connection)
        if isinstance(connection.sock, TlsSocket) and connection.asked == 1 and connection.has_received:
            self._sessions.keep(kept.key, connection.sock, kept.checked_at)
        if not reusable:
            connection.close()
            return
        kept.idle_since = self._at()
        with self._lock:
            self._idle.append(kept)
            surplus = self._idle[:-MOST_IDLE]
            del self._idle[:-MOST_IDLE]
        for one in surplus:
            one.connection.close()

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for one in idle:
            one.connection.close()

    def _reuse(self, keys: set[_Key]) -> _Kept | None:
        while (kept := self._pop(keys)) is not None:
            at = self._at()
            is_young = _within(kept.made_at, at, LONGEST_LIFE_SECONDS) and _within(kept.idle_since, at, IDLE_SECONDS)
            if is_young and kept.connection.probe():
                return kept
            kept.connection.close()
        return None

    def _pop(self, keys: set[_Key]) -> _Kept | None:
        with self._lock:
            for index in reversed(range(len(self._idle))):
                if self._idle[index].key in keys:
                    return self._idle.pop(index)
        return None

    def _connect(self, endpoint: Endpoint, addresses: Sequence[str], ends: float) -> _Kept:
        failure: OSError = OSError("no address")
        for index, address in enumerate(addresses):
            try:
                return self._make(endpoint, address, seconds_left(ends) / (len(addresses) - index))
            except ssl.SSLError:
                raise
            except OSError as error:
                failure = error
        raise failure

    def _make(self, endpoint: Endpoint, address: str, seconds: float) -> _Kept:
        key, at = _key(endpoint, address), self._at()
        sock = dial(address, endpoint.port, seconds)
        if endpoint.scheme == "http":
            return _Kept(key, Connection(sock, address), at, at[1])
        found = self._sessions.find(key, at[1])
        session, checked_at = found or (None, at[1])
        try:
            secured = self._context().wrap_socket(sock, server_hostname=endpoint.host, session=session)
        except BaseException:
            sock.close()
            self._sessions.forget(key)
            raise
        assert isinstance(secured, TlsSocket)
        return _Kept(key, Connection(secured, address), at, checked_at if secured.session_reused else at[1])

    def _context(self) -> ssl.SSLContext:
        """The TLS context, made when it is first needed.

        Reading a trust store takes as much CPU as an eighth of a cold start.
        """
        with self._lock:
            self._tls = self._tls or trusting_the_system()
            self._tls.sslsocket_class = TlsSocket
            return self._tls

    def _at(self) -> _At:
        return time.monotonic(), self._now()


def _within(began: _At, now: _At, seconds: float) -> bool:
    """Whether less than `seconds` have passed by both clocks."""
    return now[0] - began[0] < seconds and 0 <= now[1] - began[1] < seconds * 1000


def _key(endpoint: Endpoint, address: str) -> _Key:
    return (endpoint.scheme, endpoint.host, endpoint.port, address)
