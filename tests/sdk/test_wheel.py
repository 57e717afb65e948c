"""The wheel: what is in it, and that it works where nothing else of this repository is."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clockwork_client import __version__
from infra import ROOT
from infra.packaging.bundle import core as layer
from supply.locks import LOCKS, python_packages

SDK = ROOT / "sdk/python"
CORE = ROOT / "layers/core"
PINNED = [f"{one.name}=={one.version}" for one in python_packages(LOCKS["tests"])]
PROJECT = tomllib.loads((SDK / "pyproject.toml").read_text())


def run(*command: str | Path, cwd: Path) -> str:
    ran = subprocess.run([str(one) for one in command], cwd=cwd, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def built(source: Path, out: Path) -> Path:
    pip = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", out)
    run(*pip, source, cwd=out)
    (wheel,) = out.glob("*.whl")
    return wheel


def environment(place: Path, *wanted: str | Path) -> Path:
    """The interpreter of a new environment that has these and what they ask for, and nothing else."""
    venv.create(place, with_pip=False)
    python = place / "bin/python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile")
    # Constraints with hashes would ask for those of the wheels that were just built.
    (place / "constraints.txt").write_text("\n".join(PINNED))
    run(*pip, "--constraint", place / "constraints.txt", *wanted, cwd=place)
    return python


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(SDK, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(CORE, tmp_path_factory.mktemp("core"))


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield environment(tmp_path_factory.mktemp("clean"), f"{wheel}[cli]")


@pytest.mark.nightly
def test_it_holds_the_package_its_types_and_its_licence_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        metadata = archive.read(f"clockwork_client-{__version__}.dist-info/METADATA").decode()
        licence = archive.read(f"clockwork_client-{__version__}.dist-info/licenses/LICENSE")
    files = [path for path in (SDK / "clockwork_client").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    sources = {path.relative_to(SDK).as_posix() for path in files}
    package = {name for name in names if name.startswith("clockwork_client/")}
    assert package == sources
    assert {name.partition("/")[0] for name in names - package} == {f"clockwork_client-{__version__}.dist-info"}
    assert licence == (ROOT / "LICENSE").read_bytes()
    required = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra)", metadata, re.MULTILINE)
    assert sorted(required) == ["botocore", "urllib3"]
    assert "Requires-Python: >=3.10" in metadata


@pytest.mark.nightly
def test_it_works_in_a_clean_environment(python: Path, tmp_path: Path) -> None:
    told = run(python, "-c", "import clockwork_client; print(clockwork_client.__file__)", cwd=tmp_path)
    assert Path(told.strip()).is_relative_to(python.parents[1])
    program = "from clockwork_client import *; Clockwork('https://x').schedule(http('https://y'), in_=5)"
    ran = subprocess.run([python, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, env={})
    assert "NotConfigured: no AWS" in ran.stderr
    installed = run(python, "-c", IMPORTABLE, cwd=tmp_path).split()
    assert set(installed) == {"botocore", "urllib3", "clockwork_client"}


@pytest.mark.nightly
def test_the_command_works_in_a_clean_environment(python: Path, tmp_path: Path) -> None:
    command = python.with_name("clockwork")
    assert "Usage: clockwork" in run(command, "--help", cwd=tmp_path)
    assert run(command, "--version", cwd=tmp_path) == f"clockwork, version {__version__}\n"
    ran = subprocess.run([command, "job", "list"], cwd=tmp_path, capture_output=True, text=True, check=False, env={})
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "CLOCKWORK_URL" in ran.stderr


@pytest.mark.nightly
def test_without_the_extra_the_command_says_what_to_install(python: Path, tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise ImportError")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from clockwork_client.cli import main; main([])"
    ran = subprocess.run([python, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "clockwork-client[cli]" in ran.stderr


#: Which of these packages an environment has.
IMPORTABLE = """
from importlib.util import find_spec
for name in ("botocore", "urllib3", "clockwork_client", "clockwork", "pydantic", "boto3", "msgspec"):
    if find_spec(name):
        print(name)
"""


@pytest.mark.nightly
def test_the_core_is_what_the_lambdas_have_and_nothing_else(core: Path) -> None:
    with zipfile.ZipFile(core) as archive:
        names = set(archive.namelist())
        licence = archive.read(f"clockwork_core-{__version__}.dist-info/licenses/LICENSE")
    folder = CORE / "python"
    sources = {path.relative_to(folder).as_posix() for path in (folder / "clockwork").rglob("*.py")}
    package = {name for name in names if name.startswith("clockwork/")}
    assert package == sources | {"clockwork/py.typed", "clockwork/edge/openapi.json"}
    assert {name.partition("/")[0] for name in names - package} == {f"clockwork_core-{__version__}.dist-info"}
    assert licence == (ROOT / "LICENSE").read_bytes()


def test_a_layer_has_nothing_that_makes_a_distribution() -> None:
    assert [path.name for path in layer(local=True).iterdir()] == ["python"]


def test_client_and_core_are_of_one_version() -> None:
    assert tomllib.loads((CORE / "pyproject.toml").read_text())["project"]["version"] == __version__
    assert PROJECT["project"]["optional-dependencies"]["testing"] == [f"clockwork-core=={__version__}"]


@pytest.mark.nightly
def test_the_testing_kit_and_its_plugin_work_in_a_clean_environment(wheel: Path, core: Path, tmp_path: Path) -> None:
    python = environment(tmp_path / "clean", core, f"{wheel}[testing]", "pytest")
    (tmp_path / "test_mine.py").write_text(KIT)
    told = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "test_mine.py", cwd=tmp_path)
    assert "1 passed" in told
    assert run(python, "-c", IMPORTABLE, cwd=tmp_path).split() == [
        *("botocore", "urllib3", "clockwork_client", "clockwork", "pydantic", "msgspec"),
    ]


@pytest.mark.nightly
def test_without_the_extra_the_kit_says_what_to_install(python: Path, tmp_path: Path) -> None:
    program = "from clockwork_client.testing import VirtualClockwork"
    ran = subprocess.run([python, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "ImportError: the testing kit needs the package" in ran.stderr


#: A user's own test.
KIT = """
from clockwork_client import http


def test_a_reminder_comes_after_a_failure(clockwork, assert_scheduled):
    clockwork.on_deliver(lambda one: 503 if one.attempt == 1 else 200)
    clockwork.client("acme").schedule(http("https://example.com/"), {"n": 1}, cron="0 3 * * *", timezone="UTC", key="k")
    assert_scheduled(key="k", at="2026-01-02T03:00:00Z", payload={"n": 1})
    clockwork.advance(hours=4)
    assert [(one.job_key, one.attempt) for one in clockwork.deliveries] == [("k", 1), ("k", 2)]
"""


@pytest.mark.parametrize("source", [SDK, CORE])
def test_the_tool_that_builds_it_is_the_pinned_one(source: Path) -> None:
    (required,) = tomllib.loads((source / "pyproject.toml").read_text())["build-system"]["requires"]
    assert required in PINNED
