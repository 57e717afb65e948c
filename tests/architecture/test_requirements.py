"""What `make setup` installs is enough to run Clockwork here: no module that runs then imports another package."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import CORE, ROOT, SDK, imports, shipped

#: Import names of distributions that are called otherwise.
_MODULES = {"aws-cdk-lib": "aws_cdk", "jsonschema-rs": "jsonschema_rs"}
_OURS = {"clockwork", "clockwork_client", "infra", "local", "rollout"}
#: In the emulator's own environment.
_OF_THE_EMULATOR = {"ministack", "hypercorn"}
#: What runs inside Lambdas alone; they have their own layers. The testing kit runs in a user's tests alone.
_IN_LAMBDAS = ("edge", "kafka", "handlers")


def required(path: Path) -> Iterator[str]:
    """The modules of a file of requirements, with the files that it names."""
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if words[:1] == ["-r"]:
            yield from required(path.parent / words[1])
        elif words and not words[0].startswith("-"):
            name = re.split(r"[\[=<>~]", words[0])[0]
            yield _MODULES.get(name, name)


def needed() -> set[str]:
    """The top-level modules that are imported by what runs here, types aside."""
    inside = {CORE / "clockwork" / name for name in _IN_LAMBDAS} | {SDK / "clockwork_client/testing"}
    paths = [path for path in shipped() if not inside & set(path.parents) and ROOT / "lambdas" not in path.parents]
    names = {one.name.partition(".")[0] for path in paths for one in imports(path) if not one.for_types_only}
    return names - set(sys.stdlib_module_names) - _OURS - _OF_THE_EMULATOR


def test_what_runs_here_imports_what_make_setup_installs_and_no_more() -> None:
    installed = set(required(ROOT / "requirements-run.txt"))
    assert needed() - installed == set()
    assert installed - needed() == {"tzdata"}


def test_every_command_that_tests_or_measures_installs_what_that_takes() -> None:
    text = (ROOT / "Makefile").read_text()
    recipes = re.findall(r"^([a-z-]+):(.*?)## .*\n((?:\t.*\n)+)", text, re.M)
    assert len(recipes) > 20
    tools = re.compile(r"tests|bench|pytest\)|m ruff|m mypy|clockwork\.edge", re.I)
    dev = {name for name, _, recipe in recipes if tools.search(recipe)}
    told = {name for name, before, _ in recipes if "setup-dev" in before or "check" in before}
    assert {"test", "bench", "simulate", "mutants", "check", "chaos", "soak"} <= dev
    assert dev - told == set()
    assert {name for name, before, _ in recipes if before.split() == ["setup"]} == {
        "synth", "preflight", "deploy", "rollback", "destroy", "restore", "dev", "dev-logs", "dev-reload", "run",
        "demo",
    }  # fmt: skip
