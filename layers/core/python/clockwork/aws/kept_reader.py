"""The reader of a connection that is kept: it goes from one answer to the next."""

from __future__ import annotations

import io


class KeptReader(io.BufferedReader):
    """A reader that outlives its answers.

    `HTTPResponse` would close the reader, and the buffered bytes would be lost.
    """

    def makefile(self, _mode: str) -> KeptReader:
        """The reader itself, where `HTTPResponse` asks a socket for one."""
        return self

    def close(self) -> None:
        """Nothing: the connection closes its socket itself."""
