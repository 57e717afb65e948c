"""The shipped bundles are complete: each Lambda imports with only its layers, on this machine and in an account."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from clockwork.settings import Settings
from infra import ROOT
from infra.packaging.bundle import core, handler, packages
from tests.infra.template import MOMENTS, Resource, Template
from tests.support.deployed_settings import deployed

LAYERS = {moment: ("vendor", "edge") if moment == "Api" else ("vendor",) for moment in MOMENTS}
LAYERS |= {"KafkaDeliverer": ("vendor", "kafka"), "Ingester": ("vendor", "edge")}
#: The machine field of an ELF file, at offset 18: https://refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html
AARCH64 = 183

IMPORT = """
import sys
sys.path[:0] = sys.argv[1:]
import handler
assert callable(handler.lambda_handler)
for module in list(sys.modules.values()):
    print(getattr(module, "__file__", None) or "")
"""


def layers_of(moment: str, *, local: bool) -> list[Path]:
    """The layers that Lambda puts on a function's path, besides the function's own folder."""
    return [packages(layer, architecture=None if local else "arm64") / "python" for layer in LAYERS[moment]]


def in_the_account() -> Iterator[Path]:
    """All package layers as built for an account."""
    for layer in ("vendor", "edge", "kafka"):
        yield packages(layer, architecture="arm64") / "python"


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_lambda_has_its_layers_and_no_other(account: Template, moment: str) -> None:
    names = {account.logical_id(one): name for name in ("Vendor", "Edge", "Core") for one in [layer(account, name)]}
    laid = {names[one["Ref"]].lower() for one in account.function(moment)["Properties"]["Layers"]}
    assert laid == {*LAYERS[moment], "core"}


def layer(template: Template, name: str) -> Resource:
    """A layer by its name."""
    return template.one("Lambda::LayerVersion", f"Layers{name}")


@pytest.mark.parametrize("moment", LAYERS)
def test_a_lambda_starts_with_nothing_but_its_layers(moment: str) -> None:
    folder = "deliverer" if moment == "KafkaDeliverer" else moment.lower()
    shipped = [ROOT / "lambdas" / folder, *layers_of(moment, local=True), core(local=True) / "python"]
    # Inside Lambda the import of the handler wires the environment: it makes clients, and calls no service.
    inside_lambda = {"AWS_LAMBDA_FUNCTION_NAME": moment, "AWS_REGION": "us-east-1", "AWS_DEFAULT_REGION": "us-east-1"}
    settings = deployed(Settings.for_local())
    if moment == "KafkaDeliverer":
        own = {"kafka_release_queue_url": "http://q/Kafka", "kafka_ordered_release_queue_url": "http://q/Kafka.fifo"}
        settings = settings.with_(kafka_bootstrap_servers="127.0.0.1:1", **own)
    # -I and -S: neither PYTHONPATH nor site-packages, only the standard library.
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-c", IMPORT, *map(str, shipped)],
        env={**settings.to_environment(), **inside_lambda, "PYTHONTZPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    loaded = ran.stdout.splitlines()
    assert any("botocore" in path for path in loaded)
    assert not [path for path in loaded if "site-packages" in path]


@pytest.mark.nightly
def test_all_that_is_imported_is_in_the_layers_for_the_account() -> None:
    wanted = {name for source in ("lambdas", "layers/core/python") for name in imported(ROOT / source)}
    third_party = wanted - sys.stdlib_module_names - {"clockwork", "handler"}
    assert {"msgspec", "botocore", "pydantic"} <= third_party
    shipped = {path.stem for layer in in_the_account() for path in layer.iterdir()}
    assert third_party - shipped == set()


@pytest.mark.nightly
def test_everybody_may_read_all_that_an_account_is_given() -> None:
    folders = [*in_the_account(), core(local=False), *(handler(path.name) for path in (ROOT / "lambdas").iterdir())]
    files = [path for folder in folders for path in (folder, *folder.rglob("*"))]
    assert len(files) > 1_000
    closed = [path for path in files if ~path.stat().st_mode & (0o555 if path.is_dir() else 0o444)]
    assert closed == []


def imported(folder: Path) -> Iterator[str]:
    """The top-level packages that the modules of a folder import when they run."""
    for source in folder.rglob("*.py"):
        for node in _running(ast.parse(source.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


def _running(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all nodes below it, without code for type checkers only."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _running(child)


@pytest.mark.nightly
def test_native_code_for_the_account_is_for_its_processor_and_python() -> None:
    native = [library for layer in in_the_account() for library in layer.rglob("*.so")]
    assert native
    for library in native:
        assert int.from_bytes(library.read_bytes()[18:20], "little") == AARCH64, library
        assert "cpython-314-aarch64" in library.name or "abi3" in library.name, library


@pytest.mark.parametrize("architecture", [None, pytest.param("arm64", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("layer", ["vendor", "edge", "kafka"])
def test_a_layer_holds_the_versions_that_the_tests_run_with(layer: str, architecture: str | None) -> None:
    shipped = [path.name for path in (packages(layer, architecture=architecture) / "python").glob("*.dist-info")]
    assert shipped
    for name, number in (one.removesuffix(".dist-info").rsplit("-", 1) for one in shipped):
        assert version(name) == number
