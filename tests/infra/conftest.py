"""The template, synthesized once per session and context, without bundles."""

from __future__ import annotations

import functools
import json
import os
from typing import Any

import pytest

from infra import ROOT

# Set before anything imports the CDK: its bridge to Node would print a warning at its start.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")

import aws_cdk as cdk

from infra.options import Options
from infra.stack import ClockworkStack
from tests.infra.template import Template

ADMIN = "arn:aws:iam::123456789012:role/Admin"
TARGETS = "arn:aws:sqs:*:123456789012:jobs-*"


def compose(outdir: str | None = None, **context: Any) -> cdk.App:
    """The app with this context, not synthesized yet."""
    flags = json.loads((ROOT / "cdk.json").read_text())["context"]
    spared = {"aws:cdk:bundling-stacks": [], "aws:cdk:disable-asset-staging": outdir is None}
    # The CDK's own check of templates takes longer than all else. Here cfn-lint checks them, and `cdk synth` by night.
    app = cdk.App(outdir=outdir, context={**flags, **spared, **context}, builtin_cloud_formation_validation=False)
    ClockworkStack(app, "Clockwork", options=Options.chosen(app.node, None))
    return app


def synthesize(**context: Any) -> Template:
    """The template with this context, which is synthesized once in a run."""
    return Template(json.loads(_synthesized(json.dumps(context))))


@functools.cache
def _synthesized(context: str) -> str:
    return json.dumps(compose(**json.loads(context)).synth().get_stack_artifact("Clockwork").template)


@pytest.fixture(scope="session")
def account() -> Template:
    """The template for an AWS account."""
    return synthesize(adminPrincipals=ADMIN, targetQueueArns=TARGETS)


@pytest.fixture(scope="session")
def local() -> Template:
    """The template for the emulator."""
    return synthesize(stage="local")
