"""Reads `deployment.json`: the options of each environment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infra.deployment.schema import faults_of_document

NAME = "deployment.json"


class InvalidDeployment(Exception):
    """The options cannot be deployed. The message lists every fault, a line each."""

    def __init__(self, faults: Sequence[str]) -> None:
        super().__init__("\n".join([f"Nothing was deployed. {NAME} or -c options have faults:", *faults]))
        self.faults = tuple(faults)


def options_of(path: Path, environment: str) -> Mapping[str, Any]:
    """The options of an environment: its own, and the options of `common` that it does not replace.

    `environment` may be empty if there is only one. Raises InvalidDeployment.
    """
    document = _read(path)
    environments = document["environments"]
    if not environment and len(environments) == 1:
        environment = next(iter(environments))
    if environment not in environments:
        names = ", ".join(environments)
        asked = f"has no environment {environment}" if environment else "has several environments"
        raise InvalidDeployment([f"{path.name} {asked}: give ENV=..., one of {names}"])
    return {**document.get("common", {}), **environments[environment]}


def _read(path: Path) -> Mapping[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_each_once)
    except FileNotFoundError:
        raise InvalidDeployment([f"{path.name} does not exist: begin with a copy of deployment.example.json"]) from None
    except ValueError as error:
        raise InvalidDeployment([f"{path.name} cannot be read: {error}"]) from None
    if faults := faults_of_document(document):
        raise InvalidDeployment([f"{path.name}: {fault}" for fault in faults])
    found: Mapping[str, Any] = document
    return found


def _each_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, without names that stand in it twice: of two values the first would be lost without a word."""
    names = [name for name, _ in pairs]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{', '.join(twice)} stands twice in one object")
    return dict(pairs)
