"""The Python environment of the other schedulers, made when it is first needed."""

from __future__ import annotations

import subprocess
import sys

from infra import ROOT

FOLDER = ROOT / ".venv-bench"
LOCK = ROOT / "bench/requirements.lock"
PYTHON = FOLDER / "bin/python"
_COMPLETE = FOLDER / ".complete"


def ensure_environment() -> None:
    """Install the pinned packages unless they are installed. Raises CalledProcessError if pip fails; pip says why."""
    if _COMPLETE.exists() and _COMPLETE.stat().st_mtime >= LOCK.stat().st_mtime:
        return
    subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True, stdout=sys.stderr)
    install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([str(PYTHON), *install, "--requirement", str(LOCK)], check=True, stdout=sys.stderr)
    _COMPLETE.touch()
