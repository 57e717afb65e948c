"""Makes the data plane of a service from the arguments of this process and its environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from clockwork.aws.plane import late
from clockwork.aws.plane.credentials import KeySource, keys_of_chain, keys_of_environment
from clockwork.aws.plane.endpoints import Endpoint, endpoint_of, has_proxy, is_plain, plain_url
from clockwork.aws.plane.lean import Lean, Times
from clockwork.aws.plane.over_botocore import OverBotocore
from clockwork.aws.plane.plane import WIDTH, Plane
from clockwork.aws.plane.signing import Signer
from clockwork.aws.plane.watching import Unwatched, Watcher
from clockwork.aws.plane.wire.connections import Connections
from clockwork.aws.repeats import Backoff, Parallel
from clockwork.aws.trust import trusting
from clockwork.ports import Clock

if TYPE_CHECKING:
    import botocore.session


class Origin(Protocol):
    """The means of a process to call AWS: `session.Aws` has them."""

    given: botocore.session.Session | None
    endpoint_url: str | None
    validates: bool
    announced: bool
    lean: bool
    clock: Clock
    parallel: Parallel
    backoff: Backoff

    @property
    def session(self) -> botocore.session.Session:
        """The session, made when it is first asked for."""

    def client(self, service: str, attempts: int = ..., read_timeout_seconds: float = ..., /) -> Any:
        """A client of botocore; the same arguments return the same client."""


class _Place(NamedTuple):
    """Where a service is, and the bundle of certificates that it is checked against (None: the system's)."""

    endpoint: Endpoint | None
    region: str
    bundle: str | None


def make_plane(aws: Origin, service: str, attempts: int, read_seconds: float, connect_seconds: float) -> Plane:
    """A lean plane, unless only botocore can make the calls: through a proxy, or to an endpoint with a path."""
    client = partial(aws.client, service, attempts, read_seconds)
    over_botocore = OverBotocore(client, lambda: aws.parallel)
    if not aws.lean or has_proxy(os.environ):
        return over_botocore
    place = _place_of(aws, service)
    if place.endpoint is None:
        return over_botocore
    return Lean(
        service,
        Signer(place.region, service),
        place.endpoint.authority,
        Connections(place.endpoint, partial(trusting, place.bundle), connect_seconds, WIDTH + 2),
        _keys_of(aws),
        attempts,
        read_seconds,
        Times(aws.clock, sleep=aws.backoff.sleep, fraction=aws.backoff.fraction),
        _watcher_of(aws, client),
    )


def _place_of(aws: Origin, service: str) -> _Place:
    if aws.given is None and aws.endpoint_url is None and is_plain(os.environ):
        region = os.environ["AWS_DEFAULT_REGION"]
        return _Place(endpoint_of(plain_url(service, region)), region, os.environ.get("AWS_CA_BUNDLE"))
    meta = aws.client(service).meta  # one client for all planes of the service
    return _Place(endpoint_of(meta.endpoint_url), meta.region_name, aws.session.get_config_variable("ca_bundle"))


def _keys_of(aws: Origin) -> KeySource:
    keys = keys_of_environment(os.environ) if aws.given is None else None
    return keys_of_chain(lambda: aws.session) if keys is None else lambda: keys


def _watcher_of(aws: Origin, client: Callable[[], Any]) -> Watcher:
    if not aws.announced:
        return Unwatched()
    return late.announced(client(), validate=aws.validates)
