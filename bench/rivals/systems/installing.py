"""Installs pinned packages of PyPI and npm into a folder of each system, once."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.rivals.systems.base import NotToBeHad
from infra import ROOT

FOLDER = ROOT / ".venv-rivals"
PINS = ROOT / "bench/rivals/pins"
INSTALL_SECONDS = 900


def python_environment(name: str) -> Path:
    """The folder `bin` of an environment with the packages of `pins/<name>.lock`. Raises NotToBeHad."""
    pins, folder = PINS / f"{name}.lock", FOLDER / name
    with _once(folder, pins) as wanted:
        if wanted:
            _call([sys.executable, "-m", "venv", str(folder)])
            pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            _call([*pip, "--require-hashes", "--requirement", str(pins)])
    return folder / "bin"


def node_modules(name: str) -> Path:
    """A folder whose `node_modules` holds the packages of `pins/<name>/package-lock.json`. Raises NotToBeHad."""
    if shutil.which("npm") is None:
        raise NotToBeHad("there is no `npm` on the PATH")
    pins, folder = PINS / name, FOLDER / f"{name}-node"
    with _once(folder, pins / "package-lock.json") as wanted:
        if wanted:
            folder.mkdir(parents=True)
            for file in pins.iterdir():
                shutil.copy(file, folder)
            options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
            _call(["npm", "install", *options, "--prefix", str(folder)])
    return folder


#: Several turns of one system may begin at the same time.
_LOCK = threading.Lock()


@contextmanager
def _once(folder: Path, pins: Path) -> Iterator[bool]:
    """Whether a folder is still to be filled; if so, an end without an error marks it as filled for these pins."""
    mark, digest = folder / ".complete", hashlib.sha256(pins.read_bytes()).hexdigest()
    with _LOCK:
        wanted = not mark.exists() or mark.read_text() != digest
        if wanted:
            shutil.rmtree(folder, ignore_errors=True)
        yield wanted
        if wanted:
            mark.write_text(digest)


def _call(command: list[str]) -> None:
    try:
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=INSTALL_SECONDS)
    except subprocess.CalledProcessError as error:
        raise NotToBeHad(f"`{command[0]}` failed: {error.stderr.decode(errors='replace')[-400:].strip()}") from None
    except subprocess.TimeoutExpired:
        raise NotToBeHad(f"`{command[0]}` took longer than {INSTALL_SECONDS} s") from None
