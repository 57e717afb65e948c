"""No test is left out: each folder that holds some is named to pytest, and is part of `make test` once."""

from __future__ import annotations

import re
import tomllib

from tests.architecture.sources import ROOT

RUNS = ("DEPLOYING", "COMPUTING")


def test_every_folder_of_tests_is_run() -> None:
    holding = {path.relative_to(ROOT).parts[1] for path in (ROOT / "tests").rglob("test_*.py")}
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["testpaths"]
    assert sorted(configured) == sorted(f"tests/{folder}" for folder in holding)


def test_every_folder_of_tests_is_part_of_make_test_once() -> None:
    makefile = (ROOT / "Makefile").read_text()
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]["testpaths"]
    runs = {name: re.findall(rf"^{name} := (.*)$", makefile, re.MULTILINE) for name in RUNS}
    assert sorted(folder for (folders,) in runs.values() for folder in folders.split()) == sorted(configured)
    recipe = makefile.partition("\ntest: ")[2].partition("\n\n")[0]
    assert all(f"$({name})" in recipe for name in RUNS)
