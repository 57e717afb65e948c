"""The client: it knows nothing of the core, loads others' packages only when used, and is Python 3.10."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import SDK, imports, tree
from tests.architecture.test_imports import forbidden

PACKAGE = SDK / "clockwork_client"
FILES = sorted(PACKAGE.rglob("*.py"))
#: Part of the client -> the packages that it may import, beside itself and the standard library.
RULES = {
    "signing.py": {"botocore"},
    "transport.py": {"urllib3"},
    "cli": {"click", "rich"},
    "console": {"jinja2", "starlette", "uvicorn"},
    "cdk": {"aws_cdk", "constructs"},
    # The testing kit alone knows the core, of which it makes a Clockwork in memory. It looks for what the core needs.
    "testing": {"clockwork", "msgspec", "pydantic", "pytest", "botocore"},
}
#: Parts that have an extra of their own. Nothing else of the package may load them.
EXTRAS = ("cdk", "cli", "console", "testing")
#: The command that starts a part, and imports it when it runs.
STARTERS = {"console": PACKAGE / "cli/console.py"}
#: The parts of the core that the kit may import: what runs in memory, and nothing that reaches AWS, Kafka or the
#: environment.
OF_THE_CORE = ("domain", "edge", "flows", "memory", "ports", "queue_names", "routes", "settings", "targets")
#: For the type checker alone, which always has it.
TYPES = {"typing_extensions", "botocore.credentials"}
#: Packages that take long to import, or that not all who import the client need.
LATE = {
    "botocore",
    "urllib3",
    "click",
    "rich",
    "dataclasses",
    "inspect",
    "http",
    "ssl",
    "concurrent",
    "email",
    "asyncio",
}


def test_the_client_is_looked_at() -> None:
    assert {"client.py", "calls.py", "signing.py", "app.py"} <= {path.name for path in FILES}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_it_imports_no_core_and_only_its_share_of_others(path: Path) -> None:
    allowed = RULES.get(path.relative_to(PACKAGE).parts[0], set())
    found = [one for one in imports(path) if not (one.for_types_only and one.name in TYPES)]
    assert forbidden(found, {"clockwork_client", *allowed}) == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_it_is_python_3_10(path: Path) -> None:
    ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 10))


@pytest.mark.parametrize("extra", EXTRAS)
def test_nothing_else_loads_what_has_an_extra_of_its_own(extra: str) -> None:
    outside = [one for one in FILES if one.relative_to(PACKAGE).parts[0] != extra and one != STARTERS.get(extra)]
    modules = [one.name for path in outside for one in imports(path)]
    assert "clockwork_client.errors" in modules
    assert [name for name in modules if f"{name}.".startswith(f"clockwork_client.{extra}.")] == []


def test_the_testing_kit_alone_knows_the_core_and_only_what_of_it_runs_in_memory() -> None:
    knowing = {
        (path.relative_to(PACKAGE).parts[0], one.name.split(".")[1])
        for path in FILES
        for one in imports(path)
        if one.name.partition(".")[0] == "clockwork"
    }
    assert {part for part, _ in knowing} == {"testing"}
    assert {module for _, module in knowing} <= set(OF_THE_CORE)


def test_the_plugin_that_every_run_of_pytest_loads_loads_no_core() -> None:
    program = "import sys, clockwork_client.testing.plugin; print(*{name.partition('.')[0] for name in sys.modules})"
    ran = subprocess.run([sys.executable, "-c", program], cwd=SDK, check=True, capture_output=True, text=True)
    loaded = set(ran.stdout.split())
    assert "clockwork_client" in loaded
    assert loaded & {"clockwork", "botocore", "msgspec", "pydantic"} == set()


def test_importing_it_loads_nothing_slow() -> None:
    program = "import sys; from clockwork_client import *; print(*{name.partition('.')[0] for name in sys.modules})"
    ran = subprocess.run([sys.executable, "-S", "-c", program], cwd=SDK, check=True, capture_output=True, text=True)
    loaded = set(ran.stdout.split())
    assert "clockwork_client" in loaded
    assert loaded & LATE == set()


def test_what_the_package_offers_is_listed_where_it_is_and_where_it_is_asked_for() -> None:
    found: dict[Path, list[str]] = {}
    for path in (PACKAGE / "__init__.py", PACKAGE / "public.py"):
        (listed,) = [node.value for node in tree(path).body if ast.unparse(node).startswith("__all__")]  # type: ignore[attr-defined]
        found[path] = ast.literal_eval(listed)
    assert found[PACKAGE / "__init__.py"] == found[PACKAGE / "public.py"]


def test_no_import_hides_from_these_rules() -> None:
    for path in FILES:
        called = {ast.unparse(node.func) for node in ast.walk(tree(path)) if isinstance(node, ast.Call)}
        assert called.isdisjoint({"__import__", "import_module", "importlib.import_module", "exec", "eval"}), path
