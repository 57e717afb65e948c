"""A line to a server that can be cut, as the far end cuts connections of an environment that is frozen."""

from __future__ import annotations

import contextlib
import socket
import threading


class Line:
    """Forwards what comes to `port` to a port on this machine, until `close`. `carried` counts connections."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._ends: list[socket.socket] = []
        self.carried = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Close all connections that are open."""
        for end in self._ends:
            with contextlib.suppress(OSError), end:  # the other side was faster
                end.shutdown(socket.SHUT_RDWR)
        self._ends.clear()

    def close(self) -> None:
        """Take no more connections, and close those that are open."""
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:  # closed
                return
            far = socket.create_connection(("127.0.0.1", self._to_port))
            self.carried += 1
            self._ends += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=_forward, args=(source, sink), daemon=True).start()


def _forward(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):  # cut
        while data := source.recv(65_536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
