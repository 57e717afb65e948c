"""Synthesizes the CDK app into a cloud assembly, and keeps assemblies until their sources change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from infra import ROOT
from infra.packaging.shelf import digest_of, shelved

SOURCES = ("app.py", "cdk.json", "deployment.schema.json", "infra", "layers", "lambdas")


def assembly(context: Mapping[str, str]) -> Path:
    """The folder of the cloud assembly for this context (`-c name=value`); the `stage` must be named.

    Takes some seconds when the sources or the context are new. Raises CalledProcessError when the app fails.
    """
    digest = digest_of(map(ROOT.joinpath, SOURCES), sys.version_info[:2], sorted(context.items()))
    return shelved(f"cdk.out.{context['stage']}", digest, partial(_run_app, context))


def _run_app(context: Mapping[str, str], folder: Path) -> None:
    flags = json.loads((ROOT / "cdk.json").read_text())["context"]
    environment = {
        **os.environ,
        "CDK_OUTDIR": str(folder),
        # The CDK's own check of templates takes longer than all else. Whoever deploys to an account has the check.
        "CDK_VALIDATION": "false",
        "CDK_CONTEXT_JSON": json.dumps({**flags, **context}),
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": "1",
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
    }
    subprocess.run([sys.executable, str(ROOT / "app.py")], cwd=ROOT, env=environment, check=True, stdout=sys.stderr)
