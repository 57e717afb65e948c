"""A type of target is its file and its place in the registry: all else is made of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clockwork.targets.message import Message, Payload
from clockwork.targets.registry import SERVICE_TARGETS
from clockwork.targets.service import ServiceTarget, Undeliverable
from tests.architecture.sources import CORE, ROOT, SDK

TYPE = '''
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

from clockwork.targets.message import Message
from clockwork.targets.service import Entry, RoleArn, Service, ServiceTarget, Told

BELL = Service(
    name="Bells", client="bells", arn_field="bell_arn", resource="bell/[a-z]+", a_thing="a bell", things="bells",
    action="bells:Ring", permanent=frozenset(),
)


class BellTarget(ServiceTarget, frozen=True, tag="bell"):
    """A bell that the client's allowedTargetArns list."""

    bell_arn: Annotated[str, BELL.asked(max_length=100)]
    role_arn: RoleArn = None

    shown_as: ClassVar[str] = "A bell."
    service: ClassVar[Service] = BELL

    def entry(self, message: Message) -> Entry:
        return {}

    def send(self, client: Any, entries: Sequence[Entry]) -> Told:
        return {0: None}
'''
#: Each line fails if the type is missing there.
ASKS = """
import msgspec
from clockwork import bootstrap
from clockwork.domain.clients import Client
from clockwork.domain.jobs import Occurrence
from clockwork.edge.description.openapi import describe
from clockwork.edge.http.checks import Checks
from clockwork.edge.requests.jobs import JobBody
from clockwork.edge.responses.targets import shown_target
from clockwork.settings import Settings
from clockwork.targets.bell import BellTarget
from clockwork.targets.message import Payload
from infra.packaging.bundle import BOTOCORE_SERVICES
from infra.permissions import TARGET_ACTIONS
from tests.support import generated

ARN = "arn:aws:bells:us-east-1:123456789012:bell/a"
job = {"schedule": {"delaySeconds": 1}, "target": {"type": "bell", "bellArn": ARN}}
checks = Checks(0, Settings.for_local(), Client(client_id="acme", allowed_target_arns=(ARN,)))
target = JobBody.taken(job, checks).to_new_job(checks).target
assert target == BellTarget(ARN) and not checks.problems
assert target.against(checks.client) is None and "allowedTargetArns" in target.against(Client(client_id="acme"))
stored = msgspec.json.encode(Occurrence("acme", 1, 1, target, Payload(b"1")))
assert msgspec.json.decode(stored, type=Occurrence).target == target
assert msgspec.to_builtins(shown_target(target)) == job["target"]
schemas = describe()["components"]["schemas"]
assert {"BellTargetBody", "ShownBellTarget"} <= schemas.keys()
assert "|bells|" in schemas["ClientBody"]["properties"]["allowedTargetArns"]["items"]["pattern"]
assert BellTarget in bootstrap.aws_world(Settings.for_local(), delivers=True).targets._transports
assert TARGET_ACTIONS["bells"] == "bells:Ring" and "bells" in BOTOCORE_SERVICES
assert "def bell(" in generated.client_module() and "| `bell` |" in generated.page() and "|bells|" in generated.schema()
"""


@pytest.mark.long
def test_a_type_in_the_registry_is_everywhere(tmp_path: Path) -> None:
    shutil.copytree(CORE / "clockwork", tmp_path / "clockwork", ignore=shutil.ignore_patterns("__pycache__"))
    types = tmp_path / "clockwork/targets"
    (types / "bell.py").write_text(TYPE)
    registry, before = (types / "registry.py").read_text(), "from clockwork.targets.eventbridge"
    named = registry.replace("    | SnsTarget\n", "    | BellTarget\n    | SnsTarget\n")
    assert named != registry
    (types / "registry.py").write_text(
        named.replace(before, f"from clockwork.targets.bell import BellTarget\n{before}")
    )
    path = os.pathsep.join(map(str, (tmp_path, ROOT, SDK)))
    environment = {**os.environ, "PYTHONPATH": path, "AWS_DEFAULT_REGION": "us-east-1"}
    environment |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}
    asked = [sys.executable, "-c", ASKS]
    ran = subprocess.run(asked, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("one", SERVICE_TARGETS, ids=lambda one: str(one.__struct_config__.tag))
def test_each_service_says_how_a_message_enters_a_call_and_how_the_call_is_made(one: type[ServiceTarget]) -> None:
    """Python would tell so at a first delivery alone."""
    assert one.entry is not ServiceTarget.entry
    assert one.send is not ServiceTarget.send


@pytest.mark.parametrize(
    "one",
    [one for one in SERVICE_TARGETS if one.end_events is None],
    ids=lambda one: str(one.__struct_config__.tag),
)
def test_a_service_that_tells_no_ends_refuses_to_be_asked_for_one(one: type[ServiceTarget]) -> None:
    target: Any = None  # whichever it is
    message = Message("ajob.1777975200250.0", "ajob", 1, 1_777_975_200_250, Payload(b"{}"))
    for call in (
        partial(one.check_end, target, None),
        partial(one.ask, target, None, message),
        partial(one.stop, target, None, message),
    ):
        with pytest.raises(Undeliverable, match="does not say when that ends"):
            call()
    with pytest.raises(ValueError, match="does not say when that ends"):
        one.told_by({})
