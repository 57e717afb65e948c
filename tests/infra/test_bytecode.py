"""Layers have byte code that Python uses without a look at the source, or the deployment says that they have none."""

from __future__ import annotations

import importlib.util
import marshal
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.packaging.bundle import core
from infra.packaging.bytecode import account_interpreter, add_bytecode

#: What is a .pyc whose source is not looked at: https://peps.python.org/pep-0552/
UNCHECKED_HASH = 1


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    account_interpreter.cache_clear()
    yield
    account_interpreter.cache_clear()


def program(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    file = folder / name
    file.write_text(text)
    file.chmod(0o755)
    return file


def test_every_module_has_byte_code_for_where_lambda_unpacks_it(tmp_path: Path) -> None:
    package = tmp_path / "python/some"
    package.mkdir(parents=True)
    for name in ("__init__", "module"):
        (package / f"{name}.py").write_text("def answer():\n    return 42\n")
    (package / "template.py").write_text("this is no Python\n")
    add_bytecode(tmp_path, sys.executable)
    compiled = sorted((package / "__pycache__").iterdir())
    assert [file.name.partition(".")[0] for file in compiled] == ["__init__", "module"]
    for file in compiled:
        body = file.read_bytes()
        assert body[:4] == importlib.util.MAGIC_NUMBER
        assert int.from_bytes(body[4:8], "little") == UNCHECKED_HASH
        assert marshal.loads(body[16:]).co_filename == f"/opt/python/some/{file.name.partition('.')[0]}.py"


def test_the_same_source_has_the_same_byte_code_wherever_it_lies(tmp_path: Path) -> None:
    made = []
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "module.py").write_text("x = {'a', 'b'}\n")
        add_bytecode(tmp_path / name, sys.executable)
        made += [file.read_bytes() for file in (tmp_path / name / "__pycache__").iterdir()]
    assert made[0] == made[1]


def test_without_an_interpreter_of_the_lambdas_version_the_deployment_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert account_interpreter() is None
    assert account_interpreter() is None
    assert capsys.readouterr().err.count("The layers have no byte code, since there is no python3.14 on the PATH") == 1


@pytest.mark.parametrize(("answers", "is_taken"), [("exit 0", True), ("exit 1", False)])
def test_an_interpreter_is_taken_only_if_it_is_what_it_is_called(
    answers: str, is_taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = program(tmp_path / "bin", "python3.14", f"#!/bin/sh\n{answers}\n")
    monkeypatch.setenv("PATH", str(found.parent))
    assert account_interpreter() == (str(found) if is_taken else None)


def test_the_accounts_core_is_compiled_if_there_is_an_interpreter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    without = core(local=False)
    real = sys.executable
    # It says that it is the version asked for, and compiles as the one that runs the tests.
    program(tmp_path / "bin", "python3.14", f'#!/bin/sh\ntest "$1" = -c || exec {real} "$@"\n')
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    account_interpreter.cache_clear()
    compiled = core(local=False)
    try:
        assert compiled != without
        modules = {file.relative_to(compiled) for file in compiled.rglob("*.py")}
        assert modules == {file.relative_to(without) for file in without.rglob("*.py")}
        assert len(list(compiled.rglob("*.pyc"))) == len(modules) > 100
    finally:
        shutil.rmtree(compiled)  # its byte code is not of the version that the next deployment would take it for
