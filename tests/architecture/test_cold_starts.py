"""Cold starts: before its first event each Lambda loads only the packages that it needs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from clockwork.settings import Settings
from tests.architecture.sources import CORE, ROOT

EDGE = {"pydantic", "pydantic_core", "aws_lambda_powertools"}
#: Packages of the machine that runs the tests; no layer has them.
ELSEWHERE = {"boto3", "tests", "infra", "local", "aws_cdk", "hypothesis"}

IMPORT = """
import sys
sys.path[:0] = sys.argv[2:]
import handler
before = set(sys.modules)
from clockwork import bootstrap
from clockwork.settings import Settings
bootstrap.aws_world(Settings.for_local(), delivers=sys.argv[1] == "delivers")
roots = lambda names: ",".join(sorted({name.partition(".")[0] for name in names}))
print(roots(before))
print(roots(sys.modules))
"""


def loaded(moment: str, *, delivers: bool) -> tuple[set[str], set[str]]:
    """The top-level packages in memory after the import of the handler, and after the wiring of its environment."""
    # Without the variable AWS_LAMBDA_FUNCTION_NAME the code is outside Lambda, where the import alone wires nothing.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    environment |= {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    ran = subprocess.run(
        [sys.executable, "-c", IMPORT, "delivers" if delivers else "", str(ROOT / "lambdas" / moment), str(CORE)],
        env=environment | Settings.for_local().to_environment(),
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
    # Neither the import of a handler nor its wiring loads botocore; only the api's import does, since Powertools sets
    # botocore's user agent.
    assert ("botocore" in imported) == ("botocore" in wired) == (moment == "api")
    assert "msgspec" in wired
    assert not wired & ELSEWHERE
    assert bool(wired & EDGE) == (moment == "api")
