"""Imports point inward: lambdas -> handlers -> bootstrap -> aws | memory -> ports -> domain.

And handlers -> edge -> flows -> ports. Beside the domain stand the types of targets: `domain/jobs.py` names them by
their registry. They know of the domain only clients, ids, instants and pools, which know no job.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.architecture.sources import CORE, ROOT, Import, imports, shipped, tree

#: Part of the core -> the packages it may import, of the core and others, beside itself and the standard library.
CORE_RULES = {
    "domain": {"clockwork.targets", "msgspec"},
    "targets": {
        *("clockwork.domain.clients", "clockwork.domain.ids", "clockwork.domain.instants", "clockwork.domain.pools"),
        *("clockwork.settings", "msgspec"),
    },
    "ports": {"clockwork.domain", "msgspec"},
    "queue_names.py": set[str](),
    "variables.py": set[str](),
    "settings.py": {"clockwork.queue_names", "clockwork.variables", "msgspec"},
    "routes.py": {"msgspec"},
    "telemetry.py": {"aws_lambda_powertools"},
    "cold_start.py": {"aws_lambda_powertools", "msgspec"},
    "flows": {"clockwork.domain", "clockwork.targets", "clockwork.ports", "clockwork.settings", "msgspec"},
    "aws": {"clockwork.domain", "clockwork.targets", "clockwork.ports", "botocore", "urllib3", "msgspec"},
    "targets/kafka": {
        "clockwork.domain",
        "clockwork.ports",
        "clockwork.settings",
        "clockwork.targets",
        "msgspec",
        "confluent_kafka",
        "aws_msk_iam_sasl_signer",
    },
    "memory": {"clockwork.domain", "clockwork.ports", "msgspec"},
    "edge": {
        *("clockwork.domain", "clockwork.targets", "clockwork.flows", "clockwork.settings", "clockwork.routes"),
        *("msgspec", "pydantic", "pydantic_core"),
    },
    "handlers": {"clockwork.bootstrap", "clockwork.cold_start", "clockwork.edge", "clockwork.flows"},
    "bootstrap.py": {
        *(
            "clockwork.targets",
            "clockwork.ports",
            "clockwork.flows.activity",
            "clockwork.flows.containment",
            "clockwork.flows.hardening",
            "clockwork.flows.world",
            "clockwork.settings",
        ),
        *("clockwork.telemetry", "clockwork.cold_start", "clockwork.aws", "msgspec"),
    },
    "__init__.py": set[str](),
}
#: File -> further packages that it may import. A whole Clockwork in memory needs the flows and the settings.
EXCEPTIONS = {"memory/world.py": {"clockwork.flows", "clockwork.settings"}}
RULES = {
    "lambdas": {"clockwork.handlers"},
    "infra": {
        *("clockwork.settings", "clockwork.queue_names", "clockwork.routes", "clockwork.targets"),
        "clockwork.domain.clients",
        *("aws_cdk", "constructs", "jsonschema_rs"),
    },
    "app.py": {"infra", "aws_cdk"},
    "rollout": {"clockwork", "infra", "botocore"},
}
PACKAGE = CORE / "clockwork"


def forbidden(found: Iterable[Import], allowed: set[str]) -> list[str]:
    """The imports that are neither allowed nor of the standard library."""
    return [
        str(one)
        for one in found
        if one.name.partition(".")[0] not in sys.stdlib_module_names
        and not any(one.name == name or one.name.startswith(f"{name}.") for name in allowed)
        and not (one.for_types_only and one.name.startswith("mypy_boto3_"))
    ]


def part_of(path: Path) -> str:
    """The part of the core that a file belongs to."""
    room = path.relative_to(PACKAGE).parent.as_posix()
    return room if room in CORE_RULES else path.relative_to(PACKAGE).parts[0]


def test_every_part_of_the_core_has_its_rule() -> None:
    assert {part_of(path) for path in PACKAGE.rglob("*.py")} == set(CORE_RULES)


@pytest.mark.parametrize("part", CORE_RULES)
def test_the_core_imports_inwards_only(part: str) -> None:
    files = [path for path in PACKAGE.rglob("*.py") if part_of(path) == part]
    assert files
    for path in files:
        itself = f"clockwork.{part.removesuffix('.py').replace('/', '.')}"
        exceptions = EXCEPTIONS.get(str(path.relative_to(PACKAGE)), set())
        assert forbidden(imports(path), {itself, *CORE_RULES[part], *exceptions}) == []


@pytest.mark.parametrize("place", RULES)
def test_what_stands_around_the_core_imports_only_its_share_of_it(place: str) -> None:
    files = sorted((ROOT / place).rglob("*.py")) if (ROOT / place).is_dir() else [ROOT / place]
    assert files
    for path in files:
        assert forbidden(imports(path), {place.partition("/")[0], *RULES[place]}) == []


@pytest.mark.parametrize(
    ("package", "part"),
    [("pydantic", "edge"), ("botocore", "aws"), ("confluent_kafka", "targets/kafka")],
)
def test_a_package_is_known_in_one_place(package: str, part: str) -> None:
    knowing = {
        part_of(path)
        for path in PACKAGE.rglob("*.py")
        for one in imports(path)
        if one.name.partition(".")[0] == package
    }
    assert knowing == {part}


def test_kafka_is_named_by_the_registry_and_the_composition_root_alone() -> None:
    naming = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for one in imports(path)
        if one.name.startswith("clockwork.targets.kafka") and part_of(path) != "targets/kafka"
    }
    assert naming == {"targets/registry.py", "bootstrap.py"}
    # What is stored, and how a request says it, is read without Kafka's client.
    of_target = [one for one in imports(PACKAGE / "targets/kafka/target.py") if one.name.partition(".")[0] != "typing"]
    assert forbidden(of_target, {"clockwork.targets.target", "clockwork.settings", "msgspec"}) == []


def test_nothing_that_ships_imports_tests_or_boto3_or_what_only_the_machine_here_has() -> None:
    for path in shipped():
        foreign = [one for one in imports(path) if one.name.partition(".")[0] in {"tests", "bench"}]
        assert [str(one) for one in foreign] == []
        if path.is_relative_to(PACKAGE) or path.is_relative_to(ROOT / "lambdas"):
            assert [
                str(one) for one in imports(path) if one.name.partition(".")[0] in {"boto3", "local", "infra"}
            ] == []


def test_imports_inside_functions_are_the_composition_roots_and_those_of_what_is_rare() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path in {PACKAGE / "bootstrap.py", PACKAGE / "cold_start.py", *PACKAGE.rglob("late.py")}:
            continue
        functions = [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        inside = [node for one in functions for node in ast.walk(one) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert [f"{path}:{node.lineno}" for node in inside] == []


def imported_inside_functions(path: Path) -> set[str]:
    """The modules that functions of a file import."""
    inside = [
        node
        for function in ast.walk(tree(path))
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    return {str(one.module) if isinstance(one, ast.ImportFrom) else one.names[0].name for one in inside}


def test_botocore_is_imported_late() -> None:
    assert {name.partition(".")[0] for name in imported_inside_functions(PACKAGE / "aws/late.py")} == {"botocore"}
    assert imported_inside_functions(PACKAGE / "aws/plane/late.py") == {
        "clockwork.aws.plane.announced",
        "clockwork.aws.plane.wire",
    }
    importing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for one in imports(path)
        if one.name.startswith("botocore") and not one.for_types_only
    }
    assert importing <= {"aws/late.py", "aws/plane/announced.py"}


def test_no_import_hides_from_these_rules() -> None:
    for path in PACKAGE.rglob("*.py"):
        called = {ast.unparse(node.func) for node in ast.walk(tree(path)) if isinstance(node, ast.Call)}
        assert called.isdisjoint({"__import__", "import_module", "importlib.import_module", "exec", "eval"}), path


def test_the_rules_see_what_they_forbid(tmp_path: Path) -> None:
    source = PACKAGE / "domain" / "jobs.py"
    assert forbidden([Import(source, 1, "clockwork.flows.requests.create", False)], {"clockwork.domain"})
    assert forbidden([Import(source, 1, "clockwork.domains", False)], {"clockwork.domain"})
    assert forbidden([Import(source, 1, "mypy_boto3_dynamodb", False)], {"clockwork.domain"})
    assert not forbidden([Import(source, 1, "json", False)], set())
