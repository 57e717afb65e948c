"""Cold starts: before its first event each Lambda loads only the packages that it needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from clockwork.settings import Settings
from tests.architecture.sources import CORE, ROOT
from tests.support.deployed_settings import deployed

EDGE = {"pydantic", "pydantic_core", "asyncio"}
#: Making a dataclass compiles its methods from text: all of ours were a seventh of a cold start. A Struct has none.
COMPILED = {"dataclasses"}
#: Packages of the machine that runs the tests; no layer has them.
ELSEWHERE = {"boto3", "tests", "infra", "local", "aws_cdk", "hypothesis"}

#: Outside Lambda Powertools loads botocore's package, which alone loads nothing.
IMPORT = """
import sys
sys.path[:0] = sys.argv[2:]
import handler
before = set(sys.modules)
from clockwork import bootstrap
from clockwork.settings import Settings
bootstrap.aws_world(Settings.for_local(), delivers=sys.argv[1] == "delivers")
roots = lambda names: ",".join(sorted({name.partition(".")[0] for name in set(names) - {"botocore"}}))
print(roots(before))
print(roots(sys.modules))
"""

#: Creates jobs over memory in a new environment, and prints each status and what has been loaded since the start.
CREATE = """
import json, sys
sys.path[:0] = sys.argv[1:]
from clockwork.handlers import api
from clockwork.edge.app import make_api
from clockwork.domain.clients import Client
loaded = set(sys.modules)
from clockwork.memory.world import MemoryClockwork
core = MemoryClockwork()
caller = "arn:aws:iam::111111111111:user/a"
core.clients.put(Client(client_id="acme", principals=(caller,)))
handle = make_api(core.world, lambda _: None)
own = set(sys.modules) - loaded
for body in sys.stdin:
    http = {"method": "POST"}
    context = {"stage": "$default", "http": http, "authorizer": {"iam": {"userArn": caller}}}
    answer = handle({"rawPath": "/v1/jobs", "requestContext": context, "body": body}, None)
    print(answer["statusCode"], ",".join(sorted(set(sys.modules) - loaded - own)))
"""


def loaded(moment: str, *, delivers: bool) -> tuple[set[str], set[str]]:
    """The top-level packages in memory after the import of the handler, and after the wiring of its environment."""
    # Without the variable AWS_LAMBDA_FUNCTION_NAME the code is outside Lambda, where the import alone wires nothing.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    ran = subprocess.run(
        [sys.executable, "-c", IMPORT, "delivers" if delivers else "", str(ROOT / "lambdas" / moment), str(CORE)],
        env=environment | deployed(Settings.for_local()).to_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    first, second = ran.stdout.splitlines()
    return set(first.split(",")), set(second.split(","))


@pytest.mark.parametrize("moment", ["api", "ticker", "poller", "deliverer", "sweeper"])
def test_a_lambda_loads_what_it_needs_and_no_more(moment: str) -> None:
    imported, wired = loaded(moment, delivers=moment == "deliverer")
    # Neither the import of a handler nor its wiring loads botocore, or what validates rare requests.
    assert "botocore" not in imported | wired
    assert "msgspec" in wired
    assert not wired & (ELSEWHERE | EDGE | COMPILED)


def test_only_a_refused_create_loads_what_lists_its_faults() -> None:
    job = {"schedule": {"delaySeconds": 3_600}, "target": {"type": "http", "url": "https://example.com/"}}
    named = {**job, "jobKey": "k", "schedule": {"cron": "0 3 * * *", "timezone": "Europe/Berlin"}}
    bodies = [job, named, {**job, "color": "red"}]
    ran = subprocess.run(
        [sys.executable, "-c", CREATE, str(CORE)],
        input="\n".join(map(json.dumps, bodies)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    (first, at_first), (second, at_second), (third, at_third) = (line.split(" ") for line in ran.stdout.splitlines())
    assert (first, second, third) == ("201", "201", "422")
    # A create that is taken finds all modules there: nothing is loaded while a client waits.
    assert at_first == ""
    assert not {name for name in at_second.split(",") if name.startswith(("pydantic", "asyncio", "clockwork"))}
    assert "pydantic_core" in at_third.split(",")
