"""One botocore session per process, and the AWS clients that the adapters share."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import botocore.session
from botocore.config import Config

from clockwork.aws.capacity import CapacityMeter
from clockwork.aws.deadlines import refuse_late
from clockwork.aws.repeats import Backoff, Parallel

#: Calls that one process makes at the same time: more threads would only compete for the interpreter.
THREADS = 10
CONNECT_TIMEOUT_SECONDS = 1
#: DynamoDB itself asks another node after 5 s, so a longer wait gains nothing that a repeated call does not gain.
READ_TIMEOUT_SECONDS = 3
#: Tries of one call, the first included.
ATTEMPTS = 3


class Aws:
    """The session, the threads and the clients with which every adapter calls AWS.

    Make one per process: a client costs 3 ms once the session is warm, and 90 ms before.
    `validate` lets botocore check the parameters of each call. The check takes a fifth of a call's CPU time, which is
    worth it in tests only. `meter`, if given, adds up the capacity units of every DynamoDB call.
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
        """A low-level client of a service; the same arguments return the same client.

        `attempts` counts the first try, too: with 1, botocore repeats nothing.
        """
        wanted = (service, attempts, read_timeout_seconds)
        with self._lock:
            if wanted not in self._clients:
                self._clients[wanted] = self._make(*wanted)
            return self._clients[wanted]

    def client_later(self, *wanted: Any) -> Any:
        """A stand-in for the client that `client` returns for `wanted`, made at its first use.

        It suits clients that most environments never need.
        """
        return _Later(lambda: self.client(*wanted))

    def client_as(self, service: str, access_key: str, secret_key: str, token: str, read_timeout_seconds: float) -> Any:
        """A new client with its own credentials, which tries each call once.

        The caller keeps the client: `close` does not close it.
        """
        keys = {"aws_access_key_id": access_key, "aws_secret_access_key": secret_key, "aws_session_token": token}
        with self._lock:
            return self._make(service, 1, read_timeout_seconds, **keys)

    def close(self) -> None:
        """End the threads and close the connections of the shared clients."""
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
        client.meta.events.register_first("before-send", refuse_late)
        if service == "dynamodb" and self._meter is not None:
            self._meter.attach(client)
        return client


class _Later:
    """A stand-in for a client that is made at its first use.

    Lambda's client, for example, takes 11 ms of CPU to make, a fifteenth of a cold start.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __getattr__(self, name: str) -> Any:
        return getattr(self._make(), name)
