"""A development server that runs, as the demo and the files of the checkout know it."""

from __future__ import annotations

from dataclasses import dataclass

from local.api import SignedApi
from local.emulator import Credentials
from local.stack import LocalStack


@dataclass(frozen=True)
class Server:
    """A running server. `demo` is the key of the client `demo`, `url` the API's address.

    `kafka` is the address (host:port) of the broker beside it, if it has one.
    """

    stack: LocalStack
    url: str
    port: int
    demo: Credentials
    kafka: str | None = None

    def api(self) -> SignedApi:
        """The API as the client `demo` calls it. The caller closes it."""
        return SignedApi(self.url, self.demo)
