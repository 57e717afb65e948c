"""TLS sessions: a known receiver is connected again without a new transfer and check of its certificate.

A session belongs to one host, port and address, and a connection made with it is as good as the certificate that was
checked when the session began. The session therefore ends ten minutes after that check, however often it was resumed.
"""

from __future__ import annotations

import ssl
from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock

from clockwork.aws.targets.wire.sockets import TlsSocket

#: For so long (ms) a certificate that was checked counts.
LONGEST_SESSION_MS = 600_000
#: The most sessions that are kept; the one unused for longest goes first.
MOST_SESSIONS = 256


class Sessions:
    """The sessions of one TLS context, each with the instant (ms) at which a certificate was checked for it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._kept: OrderedDict[Hashable, tuple[ssl.SSLSession, int]] = OrderedDict()

    def find(self, key: Hashable, now: int) -> tuple[ssl.SSLSession, int] | None:
        """The session of a receiver, and when its certificate was checked; None if it has to be checked now."""
        with self._lock:
            found = self._kept.get(key)
            # A clock that went back makes no session live longer.
            if found is not None and not 0 <= now - found[1] < LONGEST_SESSION_MS:
                del self._kept[key]
                return None
            if found is not None:
                self._kept.move_to_end(key)
            return found

    def keep(self, key: Hashable, sock: TlsSocket, checked_at: int) -> None:
        """Keep the session of a connection over which an answer came: with TLS 1.3 there is none before."""
        session = sock.session
        if session is None:
            return
        with self._lock:
            self._kept[key] = session, checked_at
            self._kept.move_to_end(key)
            if len(self._kept) > MOST_SESSIONS:
                self._kept.popitem(last=False)

    def forget(self, key: Hashable) -> None:
        """Forget the session of a receiver with which a handshake failed."""
        with self._lock:
            self._kept.pop(key, None)
