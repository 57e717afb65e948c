"""The data plane and the AWS clients that the adapters share, and one botocore session per process behind them."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from threading import RLock
from typing import TYPE_CHECKING, Any

from clockwork.aws import late
from clockwork.aws.clock import SystemClock
from clockwork.aws.deadlines import refuse_late
from clockwork.aws.plane.making import make_plane
from clockwork.aws.plane.plane import Counting, Plane
from clockwork.aws.repeats import Backoff, Parallel
from clockwork.domain.requests.reading import Meter
from clockwork.ports import Clock

if TYPE_CHECKING:
    import botocore.session

    from clockwork.aws.capacity import CapacityMeter

#: Calls that one process makes at the same time: more threads would only compete for the interpreter.
THREADS = 10
CONNECT_TIMEOUT_SECONDS = 1
#: DynamoDB itself asks another node after 5 s, so a longer wait gains nothing that a repeated call does not gain.
READ_TIMEOUT_SECONDS = 3
#: Tries of one call, the first included.
ATTEMPTS = 3
#: The longest pause (s) before a repeat of a call for a request of the API: a throttled client holds no environment up.
LONGEST_PAUSE_OF_REQUEST = 0.25


class Aws:
    """The data plane, the threads and the clients with which every adapter calls AWS.

    Make one per process. botocore is imported with the first client, which takes 140 ms of CPU; the next take
    3 ms each.
    `validate` lets botocore check the parameters of each call. The check takes a fifth of a call's CPU time, which is
    worth it in tests only. `meter`, if given, adds up the capacity units of every DynamoDB call. A session that is
    given, or a meter, hears of the data plane's calls, too, unless not `announced`. Without `lean` the data plane is
    botocore as well. `clock` dates the signatures.
    """

    def __init__(
        self,
        session: botocore.session.Session | None = None,
        *,
        endpoint_url: str | None = None,
        validate: bool = False,
        meter: CapacityMeter | None = None,
        backoff: Backoff | None = None,
        lean: bool = True,
        announced: bool | None = None,
        clock: Clock | None = None,
    ) -> None:
        #: The session that was given; None for botocore's own, which reads the environment.
        self.given = session
        #: The endpoint of all services, if one was given.
        self.endpoint_url = endpoint_url
        #: Whether the parameters of calls are checked.
        self.validates = validate
        self.lean = lean
        self.clock: Clock = clock or SystemClock()
        self.announced = (session is not None or meter is not None) if announced is None else announced
        #: Told of each stored item that no version wrote.
        self.on_unreadable: Callable[[Exception], object] = lambda _: None
        #: Told of each call that DynamoDB throttled; set before the first plane is made.
        self.on_throttled: Callable[[], object] | None = None
        #: Told what is read and written, if it counts.
        self.meter_of_requests = Meter()
        self.parallel = Parallel(THREADS)
        self.backoff = backoff or Backoff(sleep=self._sleep)
        self._meter = meter
        self._clients: dict[tuple[str, int, float], Any] = {}
        self._planes: dict[tuple[str, int, float], Plane] = {}
        self._lock = RLock()

    @cached_property
    def session(self) -> botocore.session.Session:
        """The botocore session of all clients, made when it is first needed."""
        return self.given or late.session()

    def plane(
        self, service: str, attempts: int = ATTEMPTS, read_timeout_seconds: float = READ_TIMEOUT_SECONDS
    ) -> Plane:
        """The data plane of a service ("dynamodb" or "sqs"); the same arguments return the same one."""
        wanted = (service, attempts, read_timeout_seconds)
        with self._lock:
            if wanted not in self._planes:
                plane = make_plane(self, *wanted, CONNECT_TIMEOUT_SECONDS)
                counts = self.on_throttled if service == "dynamodb" else None
                self._planes[wanted] = Counting(plane, counts) if counts else plane
            return self._planes[wanted]

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
        for plane in self._planes.values():
            plane.close()
        for client in self._clients.values():
            client.close()

    def _sleep(self, seconds: float) -> None:
        """A pause before a repeat; a short one while a request waits, whose caller may repeat it."""
        time.sleep(min(seconds, LONGEST_PAUSE_OF_REQUEST) if self.meter_of_requests.counts else seconds)

    def _make(self, service: str, attempts: int, read_timeout_seconds: float, **keys: Any) -> Any:
        config = late.config(
            connect_timeout=CONNECT_TIMEOUT_SECONDS,
            read_timeout=read_timeout_seconds,
            retries={"mode": "standard", "total_max_attempts": attempts},
            max_pool_connections=THREADS + 2,
            tcp_keepalive=True,
            parameter_validation=self.validates,
        )
        client = self.session.create_client(service, endpoint_url=self.endpoint_url, config=config, **keys)
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
