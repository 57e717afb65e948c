"""One botocore session per process, and the clients that the adapters share."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import botocore.session
from botocore.config import Config

from clockwork.aws.capacity import CapacityMeter
from clockwork.aws.repeats import Backoff, Parallel

#: Calls at once: more threads only compete for the interpreter.
THREADS = 10
CONNECT_TIMEOUT_SECONDS = 1
#: DynamoDB itself asks another node after 5 s, so waiting longer than this buys nothing that a repeat does not.
READ_TIMEOUT_SECONDS = 3
ATTEMPTS = 3


class Aws:
    """What every adapter needs to talk to AWS. Make one per process: a client of a warm session costs 3 ms, not 90.

    `validate` lets botocore check the parameters of each call: worth its fifth of a call's CPU in tests only.
    `meter`, if given, adds up the capacity units of every DynamoDB call.
    """

    def __init__(
        self,
        session: botocore.session.Session | None = None,
        *,
        endpoint_url: str | None = None,
        validate: bool = False,
        meter: CapacityMeter | None = None,
        backoff: Backoff | None = None,
    ) -> None:
        self.session = session or botocore.session.get_session()
        self.parallel = Parallel(THREADS)
        self.backoff = backoff or Backoff()
        self._endpoint_url = endpoint_url
        self._validate = validate
        self._meter = meter
        self._clients: dict[tuple[str, int, float], Any] = {}
        self._lock = Lock()

    def client(self, service: str, attempts: int = ATTEMPTS, read_timeout_seconds: float = READ_TIMEOUT_SECONDS) -> Any:
        """A low-level client, the same for the same arguments. `attempts` = 1: botocore repeats nothing."""
        wanted = (service, attempts, read_timeout_seconds)
        with self._lock:
            if wanted not in self._clients:
                self._clients[wanted] = self._make(*wanted)
            return self._clients[wanted]

    def client_later(self, *wanted: Any) -> Any:
        """What `client` answers, but made when first asked for something: for what most environments never need."""
        return _Later(lambda: self.client(*wanted))

    def client_as(self, service: str, access_key: str, secret_key: str, token: str) -> Any:
        """A new client with credentials of its own. Whoever asks keeps it; it is not closed with the others."""
        keys = {"aws_access_key_id": access_key, "aws_secret_access_key": secret_key, "aws_session_token": token}
        with self._lock:
            return self._make(service, ATTEMPTS, READ_TIMEOUT_SECONDS, **keys)

    def close(self) -> None:
        """End the threads and close the connections."""
        self.parallel.close()
        for client in self._clients.values():
            client.close()

    def _make(self, service: str, attempts: int, read_timeout_seconds: float, **keys: Any) -> Any:
        config = Config(
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            read_timeout=read_timeout_seconds,
            retries={"mode": "standard", "total_max_attempts": attempts},
            max_pool_connections=THREADS + 2,
            tcp_keepalive=True,
            parameter_validation=self._validate,
        )
        client = self.session.create_client(service, endpoint_url=self._endpoint_url, config=config, **keys)
        if service == "dynamodb" and self._meter is not None:
            self._meter.attach(client)
        return client


class _Later:
    """Stands for a client until it is needed: Lambda's costs 11 ms of CPU to make, a fifteenth of a cold start."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        return getattr(self._make(), name)
