"""Layers have byte code that Python uses without a look at the source, whatever machine deploys."""

from __future__ import annotations

import importlib.util
import marshal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra import ROOT
from infra.packaging import bytecode
from infra.packaging.bundle import core, packages
from infra.packaging.bytecode import Compiler, account_compiler, local_compiler

#: The flags of a .pyc whose source is not looked at: https://peps.python.org/pep-0552/
UNCHECKED_HASH = 1
#: That of every final release of Python 3.14: https://github.com/python/cpython/blob/3.14/Include/internal/pycore_magic_number.h
OF_THE_LAMBDAS = (3627).to_bytes(2, "little") + b"\r\n"


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    account_compiler.cache_clear()
    yield
    account_compiler.cache_clear()


def of_account() -> Compiler:
    compiler = account_compiler()
    assert compiler is not None, "make setup"
    return compiler


def package_in(folder: Path) -> Path:
    package = folder / "python/some"
    package.mkdir(parents=True)
    for name in ("__init__", "module"):
        (package / f"{name}.py").write_text("def answer():\n    return {'a', 'b', 'c'} | {1 << 40, -2.5}\n")
    (package / "template.py").write_text("this is no Python\n")
    return package


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("compiler", "magic"),
    [(local_compiler, importlib.util.MAGIC_NUMBER), (of_account, OF_THE_LAMBDAS)],
    ids=["local", "account"],
)
def test_every_module_has_the_same_byte_code_wherever_it_lies_for_where_lambda_unpacks_it(
    compiler: Callable[[], Compiler], magic: bytes, tmp_path: Path
) -> None:
    made = []
    for name in ("here", "there"):
        package = package_in(tmp_path / name)
        compiler().compile(tmp_path / name)
        compiled = sorted((package / "__pycache__").iterdir())
        assert [file.name.partition(".")[0] for file in compiled] == ["__init__", "module"]
        made.append([file.read_bytes() for file in compiled])
    assert made[0] == made[1]
    for name, body in zip(("__init__", "module"), made[0], strict=True):
        assert body[:4] == magic
        assert int.from_bytes(body[4:8], "little") == UNCHECKED_HASH
        assert f"/opt/python/some/{name}.py".encode() in body
        if compiler is local_compiler:
            assert marshal.loads(body[16:]).co_filename.startswith("/opt/python/some/")


def test_a_machine_that_cannot_compile_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert account_compiler() is None
    assert account_compiler() is None
    assert capsys.readouterr().err.count("The layers have no byte code, since there is no node on the PATH") == 1


def test_a_checkout_without_the_compiler_says_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bytecode, "PYODIDE", ROOT / "node_modules/none/package.json")
    assert account_compiler() is None
    assert "there is no node_modules/none: run `make setup`" in capsys.readouterr().err


@pytest.mark.nightly
def test_an_interpreter_of_another_version_compiles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    package_in(tmp_path)
    monkeypatch.setattr(bytecode, "VERSION", "3.15")
    with pytest.raises(subprocess.CalledProcessError):
        of_account().compile(tmp_path)
    assert "This is Python 3.14" in capfd.readouterr().err
    assert list(tmp_path.rglob("*.pyc")) == []


@pytest.mark.nightly
def test_the_accounts_core_has_byte_code_unless_it_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = core(local=False)
    monkeypatch.setattr(bytecode, "PYODIDE", ROOT / "none")
    account_compiler.cache_clear()
    without = core(local=False)
    modules = {file.relative_to(compiled) for file in compiled.rglob("*.py")}
    assert modules == {file.relative_to(without) for file in without.rglob("*.py")}
    assert len(list(compiled.rglob("*.pyc"))) == len(modules) > 100
    assert list(without.rglob("*.pyc")) == []


@pytest.mark.nightly
@pytest.mark.parametrize("layer", ["vendor", "edge", "kafka"])
def test_every_module_of_the_accounts_packages_has_byte_code(layer: str) -> None:
    folder = packages(layer, architecture="arm64")
    modules = list(folder.rglob("*.py"))
    lacking = [path for path in modules if not list((path.parent / "__pycache__").glob(f"{path.stem}.cpython-314.pyc"))]
    assert len(modules) > 10
    assert lacking == []
