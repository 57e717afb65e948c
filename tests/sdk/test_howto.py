"""How-to pages that need no server: their programs run in memory, from top to bottom."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clockwork.domain.clients import Client
from clockwork_client import Clockwork
from infra import ROOT
from tests.handlers.handlers import Api
from tests.sdk.edge import InMemory, client_of
from tests.support.examples import ADMIN, ALICE
from tests.unit.test_docs import fenced

HERDS = ROOT / "docs/howto/herds.md"


@pytest.fixture
def herd(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[dict[str, Any], list[tuple[int, Any]]]]:
    """The names that the programs of the page on herds leave behind, and the deliveries until noon with their times."""
    api = Api()
    clockwork = api.clockwork
    clockwork.clock.at = int(time.time() * 1000)
    clockwork.clients.put(Client(client_id="campaign", principals=(ALICE,), allowed_private_targets=("127.0.0.1:*",)))
    monkeypatch.setenv("INBOX", "http://127.0.0.1:4790")

    def of(client_id: str | None = None) -> Clockwork:
        return client_of(InMemory(api, ALICE if client_id else ADMIN), client_id=client_id)

    found: dict[str, Any] = {"Clockwork": of}
    for program in fenced(HERDS, "python"):
        exec(
            re.sub(r"import Clockwork(, |$)", lambda one: "import " if one[1] else "import http", program, flags=re.M),
            found,
        )
        if program.startswith("# caps.py"):  # ALICE is here what the user demo is beside a server
            capped = clockwork.clients.get("campaign")
            assert capped is not None
            clockwork.clients.put(msgspec.structs.replace(capped, principals=(ALICE,), revision=capped.revision + 1))
    came: list[tuple[int, Any]] = []
    take = clockwork.targets.begin

    def begin(slot: int, delivery: Any) -> None:
        came.append((clockwork.clock.now(), json.loads(delivery.occurrence.payload.body)))
        take(slot, delivery)

    clockwork.targets.begin = begin  # type: ignore[method-assign]
    clockwork.run_until(int(found["nine"].timestamp() * 1000) + 3 * 3_600_000)
    yield found, came


def test_the_herds_of_the_page_come_as_the_page_says(herd: tuple[dict[str, Any], list[tuple[int, Any]]]) -> None:
    found, came = herd
    nine = int(found["nine"].timestamp() * 1000)
    spread = [at for at, body in came if "to" in body]
    assert len(spread) == 600
    assert max(Counter(at // 1_000 for at in spread).values()) <= 2  # one a second
    assert nine <= min(spread)
    assert max(spread) < nine + 601_000
    reports = [at for at, body in came if "report" in body and at >= nine]
    assert len(set(reports)) == 3
    assert all(nine <= at < nine + 601_000 for at in reports)
    assert found["errors"] == []
    capped = [at for at, body in came if "again" in body]
    assert len(capped) == 200
    assert 9_000 <= max(capped) - min(capped) <= 12_000
    assert max(Counter(at // 1_000 for at in capped).values()) <= 21
    (code,) = [at for at, body in came if "code" in body]
    assert code <= int(found["soon"].timestamp() * 1000) + 60_000


WORKERS = ROOT / "docs/howto/workers.md"


def test_the_admin_of_the_page_of_workers_declares_its_pool_and_its_client() -> None:
    api = Api(pools=("batch-etl=high,normal,low",))
    found: dict[str, Any] = {"Clockwork": lambda: client_of(InMemory(api, ADMIN))}
    declares, worker = (
        one for one in fenced(WORKERS, "python") if "admin.pools.put" in one or one.startswith("# jobs.py")
    )
    exec(declares.replace("from clockwork_client import Clockwork\n", ""), found)
    exec(worker, found)  # tests/dev runs it, and the programs behind it, in a checkout
    stored = api.clockwork.pools.get("batch-etl")
    assert stored is not None
    assert set(stored.handlers) == set(found["pool"].handlers)
    billing = api.clockwork.clients.get("billing")
    assert billing is not None
    assert billing.allows("allowed_pools", "batch-etl")


def test_what_a_handler_is_told_inline_it_is_told_as_in_earnest() -> None:
    from clockwork_client.testing import InlineContext, run_handler
    from clockwork_client.worker import Cancelled, Lost, Pool

    pool = Pool("p")

    @pool.handler("work")
    async def work(payload: Any, ctx: InlineContext) -> Any:
        ctx.heartbeat(0.5, "half")
        ctx.checkpoint(payload)
        return ctx.attempt

    context = InlineContext()
    assert run_handler(pool, "work", {"a": 1}, context) == 1
    assert (context.heartbeats, context.checkpoints) == ([(0.5, "half")], [{"a": 1}])
    context.cancel()
    with pytest.raises(Cancelled):
        run_handler(pool, "work", 1, context)
    context.lose()
    with pytest.raises(Lost):
        run_handler(pool, "work", 1, context)


def test_a_handler_in_virtual_time_is_retried_cancelled_and_gone_on_with() -> None:
    from clockwork_client import pool as to_pool
    from clockwork_client.testing import VirtualClockwork
    from clockwork_client.worker import Fail, Pool

    pool, seen = Pool("gpu"), list[tuple[Any, int]]()

    @pool.handler("train")
    def train(payload: Any, ctx: Any) -> None:
        seen.append((payload, ctx.attempt))
        if ctx.attempt < 3:
            raise Fail("no memory", retry_after=120)

    virtual = VirtualClockwork(pools=["gpu"])
    virtual.work(pool)
    cw = virtual.client("lab", allowed_pools=["gpu"])
    job_id = cw.schedule(to_pool("gpu", "train", priority="low"), 1, in_=0).job_id
    late = cw.schedule(to_pool("gpu", "train"), 2, in_=3_600)
    virtual.advance(minutes=1)
    assert seen == [(1, 1)]
    assert late.job_id is not None
    cw.jobs.cancel(late.job_id)
    virtual.advance(hours=2)
    assert seen == [(1, 1), (1, 2), (1, 3)]
    (execution,) = cw.executions.list(job_id)
    assert execution.state == "SUCCEEDED"
