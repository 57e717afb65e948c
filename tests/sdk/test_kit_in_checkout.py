"""The testing kit in a checkout after `make dev`, which installs less than the tests of Clockwork itself need."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from infra import ROOT
from tests.dev.pages import run_alone

#: Hides all modules whose packages `make setup` does not install.
HIDING = """
import sys

HIDDEN = frozenset({hidden!r})


class Hides:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in HIDDEN:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        return None


sys.meta_path.insert(0, Hides())
"""


def installed_by_setup() -> set[str]:
    """The names of the packages that `make setup` installs into .venv."""
    lock = (ROOT / "requirements-run.lock").read_text(encoding="utf-8")
    return set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))


def hidden_modules() -> list[str]:
    """The modules of packages that only `make setup-dev` installs."""
    taken = {name.lower().replace("_", "-") for name in installed_by_setup()} | {"pip", "setuptools"}
    owners = {
        module: {one.lower().replace("_", "-") for one in names} for module, names in packages_distributions().items()
    }
    return sorted(module for module, names in owners.items() if not names & taken)


def test_its_page_runs_with_what_setup_installs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = hidden_modules()
    assert {"hypothesis", "moto", "schemathesis"} <= set(hidden)
    path = tmp_path / "packages"
    path.mkdir()
    (path / "sitecustomize.py").write_text(HIDING.format(hidden=hidden))
    places = [path, ROOT, ROOT / "layers/core/python", ROOT / "sdk/python"]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, places)))
    # Plugins of packages that are hidden would be looked for by their names.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_timeout")
    folder = tmp_path / "checkout"
    folder.mkdir()
    assert run_alone(ROOT / "docs/howto/local-tests.md", folder) == 7


@pytest.mark.parametrize("missing", ["pydantic", "msgspec", "clockwork"])
def test_a_package_that_is_missing_is_told_by_name(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; from clockwork_client.testing import VirtualClockwork"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    told = ran.stderr.splitlines()[-1]
    assert told.startswith(f"ImportError: the testing kit needs the package {missing}: pip install ")
    assert "make setup" in told
