"""The two layers of every Lambda: our core as it lies in the repository, and the packages it needs."""

from __future__ import annotations

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import ROOT
from infra.bundle import vendor_bundle

RUNTIME = lambda_.Runtime.PYTHON_3_14
ARCHITECTURE = lambda_.Architecture.ARM_64
#: What the interpreter leaves behind in source folders.
LEFTOVERS = ["**/__pycache__", "**/__pycache__/**", "**/*.pyc", "**/.mypy_cache/**"]


class Layers(Construct):
    """`all`: the layers, in the order in which Lambda lays them over each other."""

    def __init__(self, scope: Construct, construct_id: str, *, local: bool) -> None:
        super().__init__(scope, construct_id)
        core = lambda_.Code.from_asset(str(ROOT / "layers/core"), exclude=LEFTOVERS)
        # `aws:cdk:bundling-stacks: []` in the context asks for a template without bundles (tests of the template).
        bundle = vendor_bundle(local=local) if cdk.Stack.of(self).bundling_required else ROOT / "layers/vendor"
        self.all = [
            self._layer("Vendor", lambda_.Code.from_asset(str(bundle)), "Third-party packages of the core layer"),
            self._layer("Core", core, "The clockwork package"),
        ]

    def _layer(self, name: str, code: lambda_.Code, description: str) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            name,
            code=code,
            description=description,
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[ARCHITECTURE],
        )
