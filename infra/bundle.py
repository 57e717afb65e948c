"""Builds the vendor layer with pip, without Docker, and keeps it under build/ until its requirements change."""

from __future__ import annotations

import compileall
import hashlib
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

from infra import ROOT

REQUIREMENTS = ROOT / "layers/vendor/requirements.txt"
CONSTRAINTS = ROOT / "constraints.txt"
#: Wheels for the account's Lambdas, whatever machine deploys.
ACCOUNT_WHEELS = (
    "--platform=manylinux_2_28_aarch64",
    "--platform=manylinux2014_aarch64",
    "--implementation=cp",
    "--python-version=3.14",
)
#: botocore carries the models of 400 services, 28 MB; these are the ones that Clockwork calls.
BOTOCORE_SERVICES = ("dynamodb", "events", "kms", "lambda", "secretsmanager", "sns", "sqs", "ssm", "sts")


def vendor_bundle(*, local: bool) -> Path:
    """The folder of the vendor layer, for the emulator's interpreter or for the account's Lambdas.

    Takes about 5 s the first time and nothing after that. When pip fails it says why on the terminal, and this raises
    CalledProcessError.
    """
    target = "local" if local else "account"
    bundle = ROOT / "build" / f"vendor-{target}-{_digest(target)}"
    if not bundle.is_dir():
        print(f"Bundling the vendor layer ({target}) into {bundle.relative_to(ROOT)}", file=sys.stderr, flush=True)
        draft = bundle.with_name(f"{bundle.name}.{os.getpid()}")
        _install(draft / "python", () if local else ACCOUNT_WHEELS)
        _trim(draft / "python")
        if local:
            _compile(draft / "python")
        _publish(draft, bundle)
    return bundle


def _digest(target: str) -> str:
    digest = hashlib.sha256(f"{target} {sys.version_info[:2] if target == 'local' else ''}".encode())
    for source in (REQUIREMENTS, CONSTRAINTS, Path(__file__)):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _install(site: Path, wheels: tuple[str, ...]) -> None:
    # pip reads relative `-c` lines from the requirements file's own folder; --target ignores what is installed here.
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    command += ["--only-binary=:all:", *wheels, f"--target={site}", f"--requirement={REQUIREMENTS}"]
    subprocess.run(command, check=True, stdout=sys.stderr)


def _trim(site: Path) -> None:
    for model in (site / "botocore/data").iterdir():
        if model.is_dir() and model.name not in BOTOCORE_SERVICES:
            shutil.rmtree(model)
    shutil.rmtree(site / "bin", ignore_errors=True)


def _compile(site: Path) -> None:
    # Without time stamps, which an unpacked archive does not keep: saves the compilation in every cold start.
    compileall.compile_dir(site, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


def _publish(draft: Path, bundle: Path) -> None:
    try:
        draft.rename(bundle)
    except OSError:
        if not bundle.is_dir():
            raise
        shutil.rmtree(draft)  # another process was faster
