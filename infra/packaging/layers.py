"""The layers of the Lambdas: the core as it lies in the repository, and the third-party packages that it needs."""

from __future__ import annotations

from pathlib import Path

import aws_cdk as cdk
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from infra import ROOT
from infra.options import Options
from infra.packaging.bundle import LEFTOVERS, OF_THE_DISTRIBUTION, core, packages

RUNTIME = lambda_.Runtime.PYTHON_3_14
ARCHITECTURES = {"arm64": lambda_.Architecture.ARM_64, "x86_64": lambda_.Architecture.X86_64}
#: Patterns of the files that an interpreter leaves behind in source folders.
LEFT_OUT = [f"**/{pattern}" for pattern in LEFTOVERS]


class Layers(Construct):
    """The layers, in `of` by name.

    Every Lambda has `core` and `vendor`. `edge`, and `kafka` if the options ask for it, are for single Lambdas.
    """

    def __init__(self, scope: Construct, construct_id: str, *, options: Options) -> None:
        super().__init__(scope, construct_id)
        self._architecture = ARCHITECTURES[options.value("architecture")]
        local, kafka = options.is_local, options.kafka is not None
        # `aws:cdk:bundling-stacks: []` in the context asks for a template without bundles (tests of the template).
        bundled = cdk.Stack.of(self).bundling_required
        source = core(local=local) if bundled else ROOT / "layers/core"
        exclude = [] if bundled else [*LEFT_OUT, *OF_THE_DISTRIBUTION]
        self.of = {"core": self._layer("Core", source, "The clockwork package", exclude)}
        for layer in ("vendor", "edge", *(["kafka"] if kafka else [])):
            folder = (
                packages(layer, architecture=None if local else options.value("architecture"))
                if bundled
                else ROOT / "layers" / layer
            )
            self.of[layer] = self._layer(layer.capitalize(), folder, f"Third-party packages: {layer}")

    def _layer(
        self, name: str, folder: Path, description: str, exclude: list[str] | None = None
    ) -> lambda_.LayerVersion:
        return lambda_.LayerVersion(
            self,
            name,
            code=lambda_.Code.from_asset(str(folder), exclude=exclude),
            description=description,
            compatible_runtimes=[RUNTIME],
            compatible_architectures=[self._architecture],
        )
