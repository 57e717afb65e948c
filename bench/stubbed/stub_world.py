"""A Lambda's world on the stub of AWS: the real adapters, in stopped time, with targets that accept at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import botocore.session

from bench.stubbed.canned import NOW
from clockwork.aws.session import Aws
from clockwork.bootstrap import aws_world
from clockwork.flows.world import World
from clockwork.memory.clock import MemoryClock
from clockwork.memory.targets import MemoryTargets
from clockwork.settings import Settings

_TABLES = {f"{kind}_table": kind for kind in ("timeline", "jobs", "executions", "shards", "clients")}


@contextmanager
def stub_world(
    endpoint_url: str, session: botocore.session.Session | None = None, bundle: str | None = None
) -> Iterator[World]:
    """The world of one environment that calls the stub at `endpoint_url`. `bundle`: the certificates that it trusts.

    With a session of the caller's, the data plane is botocore, and the session hears of every call.
    """
    lean = session is None
    aws = Aws(session or stub_session(bundle), endpoint_url=endpoint_url, lean=lean, announced=not lean)
    queue_url = f"{endpoint_url}/111111111111/release"
    # On a slow machine a run may take longer than a client is kept for, and another call would count for it.
    kept = {"client_cache_seconds": 3_600}
    settings = Settings.for_account().with_(release_queue_url=queue_url, **kept, **_TABLES)
    clock = MemoryClock(NOW)
    try:
        yield aws_world(settings, aws).with_(clock=clock, targets=MemoryTargets(clock))
    finally:
        aws.close()


def stub_session(bundle: str | None = None) -> botocore.session.Session:
    """A session with credentials as long as a Lambda's, since botocore signs and sends them with each call."""
    session = botocore.session.Session()
    session.set_config_variable("region", "us-east-1")
    session.set_config_variable("ca_bundle", bundle)
    session.set_credentials("ASIAEXAMPLEEXAMPLE00", "x" * 40, "t" * 600)
    return session
