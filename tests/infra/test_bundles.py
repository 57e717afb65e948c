"""What is shipped is complete: each Lambda imports with nothing but its layers, here and in an account."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from clockwork.settings import Settings
from infra.bundle import vendor_bundle
from local.synth import ROOT
from tests.infra.template import MOMENTS

CORE = ROOT / "layers/core/python"
#: The machine of an ELF file, at offset 18: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
AARCH64 = 183

IMPORT = """
import sys
sys.path[:0] = sys.argv[1:]
import handler
assert callable(handler.lambda_handler)
for module in list(sys.modules.values()):
    print(getattr(module, "__file__", None) or "")
"""


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_lambda_starts_with_nothing_but_its_layers(moment: str) -> None:
    shipped = [str(ROOT / "lambdas" / moment.lower()), str(vendor_bundle(local=True) / "python"), str(CORE)]
    # Inside Lambda an environment is wired as soon as the handler is imported: clients are made, nothing is called.
    inside_lambda = {"AWS_LAMBDA_FUNCTION_NAME": moment, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
    # -I and -S: neither PYTHONPATH nor site-packages, only the standard library.
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", IMPORT, *shipped],
        env={**Settings.for_local().to_environment(), **inside_lambda, "PYTHONTZPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    loaded = ran.stdout.splitlines()
    assert any("botocore" in path for path in loaded)
    assert not [path for path in loaded if "site-packages" in path]


@pytest.mark.parametrize("moment", MOMENTS)
def test_what_a_lambda_imports_is_in_the_layer_for_the_account(moment: str) -> None:
    bundle = vendor_bundle(local=False) / "python"
    wanted = set(imported(ROOT / "lambdas" / moment.lower())) | set(imported(CORE))
    third_party = wanted - sys.stdlib_module_names - {"clockwork", "handler"}
    assert "msgspec" in third_party
    missing = {name for name in third_party if not (bundle / name).is_dir() and not (bundle / f"{name}.py").exists()}
    assert missing == set()


def imported(folder: Path) -> Iterator[str]:
    """The top-level packages that the modules of a folder import when they run."""
    for source in folder.rglob("*.py"):
        for node in _running(ast.parse(source.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all below it, without what is for type checkers only."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _running(child)


def test_native_code_for_the_account_is_for_its_processor_and_python() -> None:
    native = list((vendor_bundle(local=False) / "python").rglob("*.so"))
    assert native
    for library in native:
        assert int.from_bytes(library.read_bytes()[18:20], "little") == AARCH64, library
        assert "cpython-314-aarch64" in library.name or "abi3" in library.name, library


def test_both_bundles_hold_the_same_versions() -> None:
    local, account = (
        {path.name for path in (vendor_bundle(local=here) / "python").glob("*.dist-info")} for here in (True, False)
    )
    assert local == account


def test_the_layers_hold_the_versions_that_the_tests_run_with() -> None:
    for path in (vendor_bundle(local=False) / "python").glob("*.dist-info"):
        name, shipped = path.name.removesuffix(".dist-info").rsplit("-", 1)
        assert version(name) == shipped
