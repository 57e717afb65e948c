"""The folders of tests: no test is left out of a run, and unit tests mirror the folders of the tested files."""

from __future__ import annotations

import re
import tomllib

from tests.architecture.sources import CORE, ROOT
from tests.support.searches import WHOLE

UNIT = ROOT / "tests/unit"
#: Folder of unit tests -> where the folder stands that it mirrors. `harness` tests the tests' own tools.
MIRRORED = dict.fromkeys(("domain", "targets", "flows", "aws"), CORE / "clockwork") | {
    "bench": ROOT,
    "local": ROOT,
    "supply": ROOT,
    "harness": None,
}


def test_every_folder_of_tests_is_run() -> None:
    holding = {path.relative_to(ROOT).parts[1] for path in (ROOT / "tests").rglob("test_*.py")}
    assert sorted(_test_paths()) == sorted(f"tests/{folder}" for folder in holding)


def test_every_folder_of_tests_is_part_of_make_test_once() -> None:
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile.partition("\ntest: ")[2].partition("\n\n")[0]
    runs = re.findall(r"\$\(PYTEST\) \$\((\w+)\)", recipe)
    folders = [re.findall(rf"^{run} := (.*)$", makefile, re.MULTILINE)[0] for run in runs]
    assert sorted(" ".join(folders).split()) == sorted(_test_paths())


def test_every_folder_of_unit_tests_is_one_of_what_is_tested() -> None:
    folders = {path.parent.relative_to(UNIT) for path in UNIT.rglob("*/test_*.py")}
    assert {folder.parts[0] for folder in folders} == MIRRORED.keys()
    of = {folder: MIRRORED[folder.parts[0]] for folder in folders}
    assert [str(folder) for folder, root in of.items() if root and not (root / folder).is_dir()] == []


def test_what_is_left_to_the_night_is_told_and_runs_then() -> None:
    marked = re.compile(r"mark\.(nightly|sampled)")
    left = {path for path in (ROOT / "tests").rglob("test_*.py") if marked.search(path.read_text())}
    told = (ROOT / "CONTRIBUTING.md").read_text().partition("in place of `make test`\n")[2].partition("\n## ")[0]
    about_marks = {"tests/architecture/test_folders_of_tests.py", "tests/unit/harness/test_sampling.py"}
    files = {str(path.relative_to(ROOT)) for path in left} - about_marks
    assert files == set(re.findall(r"`(tests/[\w/]+\.py)`", told))
    makefile = (ROOT / "Makefile").read_text()
    assert "test-nightly" in re.findall(r"^NIGHTLY := (.*)$", makefile, re.MULTILINE)[0].split()
    recipe = makefile.partition("\ntest-nightly: ")[2].partition("\n\n")[0]
    assert recipe.endswith(f'@{WHOLE}=yes $(PYTEST) -m "nightly or hypothesis"')
    assert re.findall(r"-m \"not long[^\"]*\"", makefile) == ['-m "not long and not nightly"']


def _test_paths() -> list[str]:
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return list(configured["tool"]["pytest"]["ini_options"]["testpaths"])
