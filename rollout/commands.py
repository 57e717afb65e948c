"""Runs the CDK's command line, and prints a table."""

from __future__ import annotations

import json
import subprocess
import textwrap
from collections.abc import Sequence
from pathlib import Path

from infra import ROOT
from rollout.checks import Row
from rollout.template import Template

ASSEMBLY = ROOT / "build/cdk.out.account"
_CDK = ROOT / "node_modules/.bin/cdk"
_WIDTH = 118


class Failed(Exception):
    """A command failed; it has said why itself."""


def synthesized(options: Sequence[str]) -> Path:
    """The assembly with these options of the CDK's command line (`-c name=value`). Raises Failed."""
    cdk("synth", "--quiet", "--output", str(ASSEMBLY), *options)
    return ASSEMBLY


def cdk(*arguments: str) -> None:
    """Run the CDK's command line on this terminal. Raises Failed."""
    if subprocess.run([str(_CDK), *arguments], cwd=ROOT, check=False).returncode:
        raise Failed(f"cdk {arguments[0]} failed")


def read(assembly: Path) -> tuple[str, Template]:
    """The stack's name and template in an assembly."""
    manifest = json.loads((assembly / "manifest.json").read_text())
    properties = manifest["artifacts"]["Clockwork"]["properties"]
    template = json.loads((assembly / properties["templateFile"]).read_text())
    return str(properties.get("stackName", "Clockwork")), Template(template)


def table(rows: Sequence[Row]) -> str:
    """The rows for a terminal: one line for each good row, and advice below each bad one."""
    widths = [max(len(text) for text in column) for column in zip(*((r.what, r.state) for r in rows), strict=True)]
    lines = []
    for row in rows:
        first = f"{row.what:<{widths[0]}}  {row.state:<{widths[1]}}  {row.found} (needed: {row.needed})"
        lines += textwrap.wrap(first, _WIDTH, subsequent_indent=" " * (sum(widths) + 4))
        if row.then:
            lines += textwrap.wrap(f"-> {row.then}", _WIDTH, initial_indent="    ", subsequent_indent="       ")
    return "\n".join(lines)
