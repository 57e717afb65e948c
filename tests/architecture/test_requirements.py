"""The packages of `make setup` are enough to run Clockwork here, and each of them has its hash in a lock."""

from __future__ import annotations

import ast
import fnmatch
import os
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path

import pytest

from supply.locks import LOCKS, NPM_LOCK, npm_packages, python_packages
from tests.architecture.sources import CORE, ROOT, SDK, imports, shipped, tree

#: Import names of distributions that are called otherwise.
_MODULES = {name: name.replace("-", "_") for name in ("aws-lambda-powertools", "jsonschema-rs")} | {
    "aws-cdk-lib": "aws_cdk"
}
_OURS = {"clockwork", "clockwork_client", "infra", "local", "rollout", "supply"}
#: In the emulator's own environment.
_OF_THE_EMULATOR = {"ministack", "hypercorn"}
#: Reads the topic of the Kafka broker. `make setup-dev` installs both, and nothing imports it where there is no broker.
_BESIDE_THE_BROKER = {"confluent_kafka"}
#: Packages that run inside Lambdas alone; they have their own layers. The testing kit runs in a user's tests alone.
_INSTALLED = {"node_modules", "build"}
_IN_LAMBDAS = ("edge", "targets/kafka", "handlers")


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
    return names - set(sys.stdlib_module_names) - _OURS - _OF_THE_EMULATOR - _BESIDE_THE_BROKER


def test_what_runs_here_imports_what_make_setup_installs_and_no_more() -> None:
    installed = set(required(ROOT / "requirements-run.txt"))
    assert needed() - installed == set()
    # The testing kit refuses bodies by pydantic, and its page runs by pytest with the options of this checkout.
    assert installed - needed() == {"tzdata", "pydantic", "pytest", "pytest-timeout"}


def test_every_command_that_tests_or_measures_installs_what_that_takes() -> None:
    text = (ROOT / "Makefile").read_text()
    recipes = re.findall(r"^([a-z-]+):(.*?)## .*\n((?:\t.*\n)+)", text, re.M)
    assert len(recipes) > 20
    tools = re.compile(r"tests|bench|pytest\)|m ruff|lint types|clockwork\.edge", re.I)
    dev = {name for name, _, recipe in recipes if tools.search(recipe)}
    told = {name for name, before, _ in recipes if "setup-dev" in before or "check" in before}
    assert {"test", "bench", "simulate", "mutants", "check", "chaos", "soak"} <= dev
    assert dev - told == set()
    assert {name for name, before, _ in recipes if before.split() == ["setup"]} == {
        "synth", "preflight", "deploy", "rollback", "destroy", "restore", "dev", "dev-logs", "dev-reload", "run",
        "demo", "sbom",
    }  # fmt: skip


def ours(pattern: str) -> list[Path]:
    """The files of the repository that match a pattern, without what is installed or built.

    Other runs build and take away drafts meanwhile, so nobody may look into those folders.
    """
    found: list[Path] = []
    for folder, inner, names in os.walk(ROOT):
        inner[:] = [name for name in inner if name not in _INSTALLED and not name.startswith(".")]
        found += [Path(folder) / name for name in fnmatch.filter(names, pattern)]
    return sorted(found)


def locks() -> list[Path]:
    """Every lock of Python's packages that is part of the repository."""
    return ours("*.lock")


def direct(path: Path) -> set[str]:
    """The packages that a file of requirements names, with the files that it names, as locks write them."""
    found: set[str] = set()
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        if words[:1] == ["-r"]:
            found |= direct(path.parent / words[1])
        elif words:
            found.add(re.sub(r"[-_.]+", "-", re.split(r"[\[=<>~;]", words[0])[0]).lower())
    return found


def test_every_file_of_requirements_has_its_lock() -> None:
    written = {path.with_suffix(".txt") for path in locks()}
    assert len(written) >= 8
    assert [path for path in written if not path.exists()] == []
    assert [path for path in ROOT.glob("*requirements*.txt") if path not in written] == [ROOT / "requirements.txt"]
    assert [path for path in ROOT.glob("layers/*/requirements.txt") if path not in written] == []


@pytest.mark.parametrize("lock", locks(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_lock_holds_what_is_required_and_a_hash_for_each_package(lock: Path) -> None:
    packages = python_packages(lock)
    assert {one.name for one in packages if None in one.needed_by} == direct(lock.with_suffix(".txt"))
    assert [one.name for one in packages if not one.hashes or not one.needed_by] == []
    assert all(re.fullmatch("sha256:[0-9a-f]{64}", value) for one in packages for value in one.hashes)


def test_layers_and_setup_hold_the_versions_that_the_tests_run_with() -> None:
    tested = {(one.name, one.version, one.hashes) for one in python_packages(LOCKS["tests"])}
    for purpose in ("layer vendor", "layer edge", "layer kafka", "setup"):
        assert {(one.name, one.version, one.hashes) for one in python_packages(LOCKS[purpose])} <= tested, purpose


def test_what_is_installed_here_is_what_is_locked() -> None:
    locked = {one.name: one.version for one in python_packages(LOCKS["tests"])}
    here = {re.sub(r"[-_.]+", "-", one.name).lower(): one.version for one in distributions()}
    assert {name: version for name, version in here.items() if locked.get(name, version) != version} == {}
    assert {one.name for one in python_packages(LOCKS["setup"])} - here.keys() <= {"colorama", "tzdata"}


def test_every_installation_of_pip_asks_for_hashes() -> None:
    texts = {path: path.read_text() for path in [*shipped(), ROOT / "Makefile", *(ROOT / "bench").rglob("*.py")]}
    installing = [path for path, text in texts.items() if re.search(r'-m[", ]+pip[", ]+install', text)]
    assert {"Makefile", "infra/packaging/bundle.py"} <= {str(path.relative_to(ROOT)) for path in installing}
    assert [path for path in installing if "--require-hashes" not in texts[path]] == []


def test_no_lock_and_no_recipe_names_the_address_of_a_registry() -> None:
    files = [*ours("*.lock"), *ours("requirements*.txt"), *ours("package*.json"), ROOT / "Makefile", *ours("*.toml")]
    assert NPM_LOCK in files
    named = re.compile(r'index-url|find-links|"resolved"|pypi\.org|registry\.|--registry')
    assert [path for path in files if named.search(path.read_text())] == []


def test_each_package_of_npm_has_a_version_and_a_hash() -> None:
    packages = npm_packages()
    assert len(packages) > 5
    assert [one.name for one in packages if not one.hashes[0].startswith("sha512-") or not one.needed_by] == []


def modules_of_the_cdk(path: Path) -> set[str]:
    """The CDK's modules that a file imports, or takes a class from."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and node.module == "aws_cdk":
            found |= {f"aws_cdk.{one.name}" for one in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("aws_cdk."):
            found.add(str(node.module))
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names if one.name.split(".")[0] == "aws_cdk"}
    return found


@pytest.mark.nightly
def test_mypy_reads_the_modules_of_the_cdk_that_are_imported_and_no_others() -> None:
    """The classes of a module that it does not read are Any."""
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    (read,) = ([*one["module"]] for one in overrides if one.get("follow_imports") == "normal")
    paths = [path for place in ("infra", "tests", "examples") for path in (ROOT / place).rglob("*.py")]
    imported = set().union(*(modules_of_the_cdk(path) for path in [ROOT / "app.py", *paths]))
    assert len(imported) > 10
    assert read == sorted(imported)
