"""The pages of the console with a client of 7,000 named jobs, on the local stack: their calls, and the API's time.

The client has named jobs that fire far apart, a few that run all the time, and some that are dead. Each page is asked
for twice, by an admin who looks at it first. The console knows who asks and which clients there are, which it asks once
a minute, and nothing else. The second look counts: the API is warm then.

    calls        requests to the API, with those of the frame around the page
    apiMs        for how long at least one of them was under way: so long the page waits for the API
    sumMs        the sum of their times, which is longer where they are made side by side
    queryMs      beside the pages: one query of one job among all of them, by the emulator alone. DynamoDB takes some
                 milliseconds for it, however many jobs there are.

    python -m bench.console [--json] [--docs] [--jobs N]

The block goes to standard error, with --docs also into docs/performance.md; the last line of standard output is one
JSON object. It exits with 1 if a page makes more than 8 calls, or takes more than 1,500 ms of the API's time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import urllib3
from botocore.credentials import Credentials

from bench.arrivals.clockwork_run import CLIENT, CreateFailed, clockwork
from bench.reporting.report import publish
from bench.reporting.tables import machine, paragraph
from clockwork.aws.repeats import batches
from clockwork_client import Clockwork, http, job, retry
from clockwork_client.console.app import application
from clockwork_client.console.context import Context
from clockwork_client.console.guard import Guard
from clockwork_client.console.sessions import Sessions
from clockwork_client.transport import NoAnswer, Request, Response
from local.emulator import REGION
from local.receiver import Answer, Post, Receiver
from local.stack import LocalStack

JOBS, RUNNING, DEAD = 7_000, 20, 40
MOST_CALLS, MOST_MS = 8, 1_500
#: Jobs of one request; and for how long (s) the jobs that run all the time do that before the pages are asked for.
_AT_ONCE, _RUN_SECONDS = 100, 20
_PORT = 4785
_QUERIES = 5


class Look(NamedTuple):
    """One look at a page."""

    calls: int
    api_ms: float
    sum_ms: float


class Counting:
    """A transport to the stack's API that notes when each call began and ended."""

    def __init__(self, stack: LocalStack) -> None:
        self.spans: list[tuple[float, float]] = []
        self._host, self._lock = urlsplit(stack.api_url).netloc, Lock()
        # Names below `localhost` resolve on some systems only.
        authority = str(stack.ca_bundle) if stack.ca_bundle else None
        self._pool = urllib3.HTTPSConnectionPool("127.0.0.1", stack.emulator.port, maxsize=20, ca_certs=authority)

    def __call__(self, request: Request) -> Response:
        parts, began = urlsplit(request.url), time.perf_counter()
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        headers = {**request.headers, "Host": self._host}
        how: dict[str, Any] = {"retries": False, "redirect": False, "timeout": 60.0, "assert_same_host": False}
        try:
            answer = self._pool.urlopen(request.method, path, request.body, headers, **how)
        except urllib3.exceptions.HTTPError as error:
            raise NoAnswer(str(error)) from error
        with self._lock:
            self.spans.append((began, time.perf_counter()))
        return Response(answer.status, {name.lower(): value for name, value in answer.headers.items()}, answer.data)

    def taken(self) -> Look:
        """The calls since this was asked last."""
        with self._lock:
            spans, self.spans = sorted(self.spans), []
        busy, until = 0.0, 0.0
        for began, ended in spans:
            busy += max(0.0, ended - max(began, until))
            until = max(until, ended)
        return Look(len(spans), 1_000 * busy, 1_000 * sum(ended - began for began, ended in spans))


class Target(Receiver):
    """Takes deliveries, and refuses those that are to be dead."""

    def answer(self, post: Post) -> Answer:
        """503 below /down, and 200 elsewhere."""
        return Answer(503 if post.path.startswith("/down") else 200)


class Reader:
    """A browser without a screen, in front of a console of its own."""

    def __init__(self, cw: Clockwork) -> None:
        sessions = Sessions(_PORT)
        self.context = Context(cw, sessions)
        self._app: Guard = application(self.context, _PORT)
        _, headers = self._ask(f"/enter?token={sessions.new_link()}", "")
        self._cookie = headers["set-cookie"].partition(";")[0]

    def look(self, path: str) -> str:
        """The text of a page that is there."""
        status, headers = self._ask(path, self._cookie)
        if status != "200":
            raise CreateFailed(f"{path}: {status}")
        return headers["body"]

    def _ask(self, path: str, cookie: str) -> tuple[str, dict[str, str]]:
        parts, host = urlsplit(path), f"127.0.0.1:{_PORT}"
        headers = [(b"host", host.encode())] + ([(b"cookie", cookie.encode())] if cookie else [])
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": parts.path,
            "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 40_000),
            "server": ("127.0.0.1", _PORT),
        }
        sent: list[Any] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(self._app(scope, receive, send))
        start = next(one for one in sent if one["type"] == "http.response.start")
        body = b"".join(one.get("body", b"") for one in sent if one["type"] == "http.response.body")
        found = {name.decode().lower(): value.decode() for name, value in start["headers"]}
        return str(start["status"]), {**found, "body": body.decode()}


@contextmanager
def filled(jobs: int) -> Iterator[tuple[LocalStack, Counting, Clockwork]]:
    """A stack whose client has so many named jobs, some that run and some dead executions."""
    with Target() as target, clockwork(target.port) as stack:
        sending = Counting(stack)
        admin = Credentials(stack.admin.access_key, stack.admin.secret_key)
        with Clockwork(
            stack.api_url, CLIENT, region=REGION, credentials=admin, transport=sending, deadline=120.0
        ) as cw:
            _fill(cw, f"http://{target.place}", jobs)
            time.sleep(_RUN_SECONDS)
            yield stack, sending, cw


def _fill(cw: Clockwork, url: str, jobs: int) -> None:
    for number in range(RUNNING):
        cw.schedule(http(f"{url}/ok"), {"n": number}, every=4 + number, key=f"a/often-{number:02}")
    named = [
        job(
            http(f"{url}/tenant/{number % 50}"),
            {"tenant": number},
            cron=f"{number % 60} {number // 60 % 24} * * *",
            timezone="Europe/Berlin",
            key=f"tenant/{number:05}/report",
            tags={"team": f"team-{number % 9}"},
        )
        for number in range(jobs - RUNNING)
    ]
    dead = [job(http(f"{url}/down"), {"dead": number}, in_=1, retry=retry(max_attempts=1)) for number in range(DEAD)]
    for some in batches([*named, *dead], _AT_ONCE):
        refused = [one for one in cw.schedule_many(some) if one.job is None]
        if refused:
            raise CreateFailed(f"{len(refused)} jobs: {refused[0]}")


def paths(cw: Clockwork) -> dict[str, str]:
    """Name of a page -> its address."""
    often = next(iter(cw.jobs.list(prefix="a/often-", page_size=1)))
    run = cw.executions.list(often.job_id, page_size=1).page()[0].execution_id
    return {
        "attention": "/",
        "jobs": "/jobs",
        "jobs, a tag": "/jobs?tag=team%3Dteam-3",
        "jobs, the next ones": "/jobs?next=" + str(_token(cw)),
        "search, many": "/jobs?q=report",
        "search, few": "/jobs?q=00042",
        "search, none": "/jobs?q=nowhere",
        "job": f"/jobs/{often.job_id}",
        "fires": f"/jobs/{often.job_id}/fires",
        "edit": f"/jobs/{often.job_id}/edit",
        "run": f"/executions/{run}",
        "runs": "/runs",
        "runs, a state": "/runs?state=DEAD",
        "runs, a tag": "/runs?tag=team%3Dteam-3",
        "upcoming, an hour": "/upcoming?hours=1",
        "upcoming, a day": "/upcoming?hours=24",
        "dead": "/dead",
        "dead, a prefix": "/dead?prefix=tenant",
        "operations": "/operations",
        "change many": "/operations/new?kind=pauseJobs&tag=team%3Dteam-3",
        "changes": "/changes",
        "pools": "/pools",
        "clients": "/clients",
        "shards": "/shards",
    }


def _token(cw: Clockwork) -> str:
    pages = cw.jobs.list(page_size=1_000)
    pages.page()
    return pages.next_token or ""


def measured(sending: Counting, cw: Clockwork) -> dict[str, Look]:
    """The second look at each page, each in a console of its own, which knows nothing."""
    found: dict[str, Look] = {}
    for name, path in paths(cw).items():
        for _ in range(2):
            reader = Reader(cw)
            reader.context.source.clients()
            sending.taken()
            reader.look(path)
            found[name] = sending.taken()
            reader.context.source.close()
    return found


def query_ms(stack: LocalStack) -> float:
    """The least time of a query of one job among all those of the client."""
    dynamodb = stack.client("dynamodb")
    name = next(one for one in dynamodb.list_tables()["TableNames"] if "jobs" in one.lower())
    times = []
    for _ in range(_QUERIES):
        began = time.perf_counter()
        dynamodb.query(
            TableName=name,
            Limit=1,
            ConsistentRead=True,
            KeyConditionExpression="#c = :c AND #k BETWEEN :low AND :high",
            ExpressionAttributeNames={"#c": "clientId", "#k": "jobKey"},
            ExpressionAttributeValues={":c": {"S": CLIENT}, ":low": {"S": " "}, ":high": {"S": "~"}},
        )
        times.append(time.perf_counter() - began)
    return 1_000 * min(times)


def is_over(one: Look) -> bool:
    """Whether a page makes too many calls, or takes too long."""
    return one.calls > MOST_CALLS or one.api_ms > MOST_MS


def page(found: Mapping[str, Look], jobs: int, query: float) -> str:
    """The block in the documentation: the most of all pages, and the pages over a bound."""
    calls, slow, summed = (max(found, key=lambda name: getattr(found[name], field)) for field in Look._fields)
    over = ", ".join(name for name, one in found.items() if is_over(one))
    bound = f"{MOST_CALLS} calls and {MOST_MS:,} ms"
    judged = f"These are over {bound}: {over}" if over else f"All are within {bound}"
    return paragraph(
        f"Of {len(found)} pages, at most: {found[calls].calls} calls ({calls}), {found[slow].api_ms:,.0f} ms of the "
        f"API ({slow}), {found[summed].sum_ms:,.0f} ms in all calls summed up ({summed}). {judged}. {jobs:,} named "
        f"jobs; one query of one of them takes the emulator {query:,.0f} ms. {machine()}"
    )


def main(arguments: Sequence[str]) -> int:
    """Measure the pages and print the figures; returns 1 if one of them is over a bound."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.console", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--docs", action="store_true", help="write the table into docs/performance.md")
    parser.add_argument("--jobs", type=int, default=JOBS)
    options = parser.parse_args(arguments)
    with filled(options.jobs) as (stack, sending, cw):
        query, found = query_ms(stack), measured(sending, cw)
    if not options.json:
        print(page(found, options.jobs, query), file=sys.stderr)
    if options.docs:
        publish("console", page(found, options.jobs, query))
    pages = {name: {"calls": one.calls, "apiMs": one.api_ms, "sumMs": one.sum_ms} for name, one in found.items()}
    print(json.dumps({"jobs": options.jobs, "queryMs": query, "pages": pages}))
    return int(any(map(is_over, found.values())))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
