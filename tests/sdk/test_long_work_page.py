"""docs/howto/long-work.md: its programs for Lambda functions, state machines and tasks, which need an account."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from clockwork_client import ecs, end, step_functions
from clockwork_client.testing import VirtualClockwork
from infra import ROOT
from tests.unit.test_docs import fenced

PROGRAMS = fenced(ROOT / "docs/howto/long-work.md", "python")
ARN = "arn:aws:{}:us-east-1:111111111111:{}"


@pytest.mark.parametrize("program", [one for one in PROGRAMS if "completion=end(" in one])
def test_a_job_whose_end_aws_tells_ends_well(program: str) -> None:
    v = VirtualClockwork(at="2026-01-01T00:00:00Z")
    arns = {
        "machine_arn": ARN.format("states", "stateMachine:report"),
        "definition_arn": ARN.format("ecs", "task-definition/report"),
        "cluster_arn": ARN.format("ecs", "cluster/jobs"),
    }
    cw = v.client("acme", allowed_target_arns=[ARN.format("states", "stateMachine:*"), "arn:aws:ecs:us-east-1:*"])
    names = {"cw": cw, "tonight": v.now + timedelta(hours=1), "step_functions": step_functions, "ecs": ecs, "end": end}
    exec(program, {**names, **arns})
    v.advance(hours=2)
    (delivery,) = v.deliveries
    assert delivery.payload == {"pages": [1, 2]}
    assert v.run(delivery.job_id).state == "SUCCEEDED"


def test_the_function_that_reports_by_itself_is_a_handler_of_lambda() -> None:
    (program,) = [one for one in PROGRAMS if "@completes()" in one]
    names: dict[str, Any] = {}
    exec(program, names)
    assert callable(names["lambda_handler"])
