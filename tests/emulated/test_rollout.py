"""From an empty account to a stack, to nothing, and to a stack again that goes on where the first one ended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from local import synth
from local.emulator import ACCOUNT, REGION
from local.stack import ADMIN_ARN, LocalStack
from rollout.commands import ASSEMBLY
from tests.dev.checkout import Checkout
from tests.e2e.commands import as_user, cdk, left_over, rollout, stack_named
from tests.e2e.hooks import Hooks
from tests.e2e.tenant import Tenant

pytestmark = pytest.mark.nightly

#: As an account's stack keeps its tables and queues; the Lambdas are those of the emulator.
OPTIONS = {"stage": "local", "keep": "true", "adminPrincipals": ADMIN_ARN, "ingestionQueue": "true"}


@pytest.fixture(scope="module")
def empty() -> Iterator[LocalStack]:
    """A local stack of its own, with nothing deployed into it."""
    with LocalStack.start() as stack:
        yield stack


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """A copy of this checkout, in which `make` installs nothing."""
    return Checkout(tmp_path_factory.mktemp("rollout") / "clockwork")


def outputs_of(stack: LocalStack) -> dict[str, str]:
    return {one["OutputKey"]: one["OutputValue"] for one in stack_named(stack, "Clockwork")["Outputs"]}


def adoption_in(said: str) -> dict[str, Any]:
    """The option `adopt` that `make destroy` prints."""
    text = said[said.index('"adopt":') :]
    found: dict[str, Any] = json.JSONDecoder().raw_decode(text.removeprefix('"adopt":').lstrip())[0]
    return found


@pytest.mark.timeout(600)
def test_preflight_deploy_a_forgotten_option_destroy_and_deploy_again(empty: LocalStack, checkout: Checkout) -> None:
    admin, whole = as_user(empty, empty.admin), str(ASSEMBLY)
    asked = " ".join(f"-c {name}={value}" for name, value in OPTIONS.items())
    status, said = checkout.make("preflight", f"DEPLOY={asked}", environment=admin)
    assert (status, "cdk bootstrap aws://000000000000/us-east-1" in said) == (2, True), said

    with ThreadPoolExecutor() as threads:
        synthesized = threads.submit(synth.assembly, {**OPTIONS, "ingestionQueue": "false"})
        # Without `--app` it would synthesize the app, without its layers, into the very folder of `whole`.
        cdk("bootstrap", "--app", whole, f"aws://{ACCOUNT}/{REGION}", environment=admin)
        forgetful = str(synthesized.result())
    status, said = rollout("deploy", "--yes", "--app", whole, environment=admin)
    assert status == 0, said
    assert "it will be created" in said
    empty.outputs = outputs_of(empty)
    assert empty.api().request("GET", "/v1/health").status == 200
    assert empty.api(empty.create_user("stranger")).request("GET", "/v1/health").status == 403
    status, said = rollout("rollback", environment=admin)
    assert (status, "has no version from before the last deployment" in said) == (1, True), said
    status, said = rollout("rollback", "--forward", environment=admin)
    assert (status, "every Lambda is of its newest version" in said) == (0, True), said

    status, said = rollout("deploy", "--yes", "--app", forgetful, environment=admin)
    assert status == 1
    assert "make deploy ALLOW_REMOVAL='ingestionQueue'" in said
    assert outputs_of(empty) == empty.outputs
    status, said = rollout("deploy", "--yes", "--app", whole, environment=admin)
    assert (status, "no changes" in said) == (0, True), said

    with Hooks() as hooks:
        body = {"principals": [ADMIN_ARN], "allowedPrivateTargets": [hooks.place]}
        assert empty.api().request("PUT", "/v1/clients/acme", body).status == 200
        acme, soon, later = Tenant("acme", empty.api()), hooks.hook(), hooks.hook()
        near = acme.create(soon, schedule={"delaySeconds": 15})
        far = acme.create(later, schedule={"delaySeconds": 3_600})

        status, said = checkout.make("destroy", "YES=1", "DEPLOY=-c name=Clockwork", environment=admin)
        assert status == 0, said
        left = left_over(empty)
        assert (left["functions"], left["rules"], left["stacks"]) == ([], [], ["CDKToolkit"])
        assert (len(left["tables"]), len(left["queues"])) == (5, 7)
        assert not soon.arrivals
        adopt = adoption_in(said)
        assert sorted(adopt["tables"].values()) == sorted(left["tables"])
        assert sorted(adopt["queues"].values()) == sorted(url.rpartition("/")[2] for url in left["queues"])
        assert "Resume them once the new stack runs:\n  acme" in said

        again = str(synth.assembly({**OPTIONS, "adopt": json.dumps(adopt)}))
        status, said = rollout("deploy", "--yes", "--app", again, environment=admin)
        assert status == 0, said
        empty.outputs = outputs_of(empty)
        acme = Tenant("acme", empty.api())
        assert acme.get(f"/v1/jobs/{far['jobId']}")["state"] == "SCHEDULED"
        assert empty.api().request("POST", "/v1/clients/acme/resume").status == 200
        empty.client("lambda").invoke(FunctionName=empty.outputs["SweeperFunction"])  # not to wait for its minute
        soon.await_arrivals(1)
        acme.await_job(near["jobId"], "SUCCEEDED")
        assert (len(soon.arrivals), later.arrivals) == (1, [])
