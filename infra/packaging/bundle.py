"""Builds the contents of layers with pip, without Docker."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from clockwork.targets.registry import SERVICE_TARGETS
from infra import ROOT
from infra.packaging import bytecode
from infra.packaging.bytecode import Compiler, account_compiler, local_compiler
from infra.packaging.shelf import digest_of, shelved

#: A change of what builds builds anew.
_MAKERS = (Path(__file__), Path(bytecode.__file__), bytecode.PROGRAM)
#: pip's options for wheels that suit the account's Lambdas, whatever machine deploys.
ACCOUNT_WHEELS = {
    architecture: (
        f"--platform=manylinux_2_28_{machine}",
        f"--platform=manylinux2014_{machine}",
        "--implementation=cp",
        "--python-version=3.14",
    )
    for architecture, machine in {"arm64": "aarch64", "x86_64": "x86_64"}.items()
}
#: botocore carries the models of 400 services, 28 MB; these are the ones that Clockwork calls.
BOTOCORE_SERVICES = {"dynamodb", "kms", "lambda", "secretsmanager", "sqs", "ssm", "sts"} | {
    target.service.client for target in SERVICE_TARGETS
}
LEFTOVERS = ("__pycache__", "*.pyc", ".mypy_cache")
#: Files of layers/core that make a distribution of it, which no Lambda needs.
OF_THE_DISTRIBUTION = ("pyproject.toml", "LICENSE")


def packages(layer: str, *, architecture: str | None) -> Path:
    """The folder of a layer of third-party packages, for the account's Lambdas or (None) the emulator's interpreter.

    `layer` names the folder of its lock under layers/. Takes about 5 s the first time and nothing after that.
    Raises CalledProcessError when pip fails, as it does for a file whose hash is not in the lock; pip says why on the
    terminal.
    """
    lock = ROOT / "layers" / layer / "requirements.lock"
    build = partial(_install_packages, lock=lock, architecture=architecture)
    digest = _digest(lock, architecture=architecture)
    return shelved(f"{layer}-{architecture or 'local'}", digest, build)


def core(*, local: bool) -> Path:
    """The folder of the core layer: a copy of that in the repository, with byte code unless it cannot be made here."""
    source, kind = ROOT / "layers/core", "local" if local else "account"
    compiler = _compiler(None if local else "any")
    digest = digest_of((source, *_MAKERS), compiler and compiler.version)
    return shelved(f"core-{kind}", digest, partial(_copy, source, compiler))


def handler(folder: str) -> Path:
    """The folder of a function's own code: a copy of the one below lambdas/."""
    source = ROOT / "lambdas" / folder
    return shelved(f"handler-{folder}", digest_of((source, *_MAKERS)), partial(_copy, source, None))


def _compiler(architecture: str | None) -> Compiler | None:
    """The compiler: byte code is the same for all architectures."""
    return account_compiler() if architecture else local_compiler()


def _digest(*sources: Path, architecture: str | None) -> str:
    compiler = _compiler(architecture)
    traits = ACCOUNT_WHEELS.get(architecture or ""), compiler and compiler.version, sorted(BOTOCORE_SERVICES)
    return digest_of((*sources, *_MAKERS), *traits)


def _install_packages(folder: Path, *, lock: Path, architecture: str | None) -> None:
    site = folder / "python"
    # With --target pip ignores the packages of this environment.
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    command += ["--only-binary=:all:", "--require-hashes", f"--target={site}", f"--requirement={lock}"]
    subprocess.run([*command, *(ACCOUNT_WHEELS[architecture] if architecture else ())], check=True, stdout=sys.stderr)
    shutil.rmtree(site / "bin", ignore_errors=True)
    for model in (site / "botocore/data").glob("*/"):
        if model.name not in BOTOCORE_SERVICES:
            shutil.rmtree(model)
    if compiler := _compiler(architecture):
        compiler.compile(folder)


def _copy(source: Path, compiler: Compiler | None, folder: Path) -> None:
    shutil.copytree(source, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*LEFTOVERS, *OF_THE_DISTRIBUTION))
    if compiler:
        compiler.compile(folder)
