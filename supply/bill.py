"""Writes the bill of materials of this repository: CycloneDX 1.6 as JSON, made from the locks alone.

    python -m supply.bill [FILE]

The same locks make the same bytes, on every machine and without a network. A component's scope is `required` for what
the Lambdas run, and `excluded` for what only builds, deploys or tests. Its property `clockwork:used-by` names the
purposes. The hashes of a Python package's files stand in the locks: a version has many files, and a component one.
"""

from __future__ import annotations

import base64
import json
import sys
import tomllib
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from supply import ROOT
from supply.locks import LOCKS, Package, npm_packages, python_packages

BILL = ROOT / "build/sbom.cdx.json"
_NAMESPACE = uuid.UUID("5a1b3a9e-7c3a-4f0e-9a53-2d8c2b7e6f10")


def bill() -> dict[str, Any]:
    """The bill of materials as JSON values."""
    used: Mapping[str, Iterable[Package]] = {
        **{purpose: python_packages(lock) for purpose, lock in LOCKS.items()},
        "command line of the CDK, compiler of layers, tests": npm_packages(),
    }
    purposes, wants = defaultdict[Package, list[str]](list), defaultdict[str, set[str]](set)
    components: dict[str, Package] = {}
    ours = _ours()
    for purpose, packages in used.items():
        by_name = {package.name: package.purl for package in packages}
        for package in packages:
            known = components.setdefault(package.purl, package)
            purposes[known].append(purpose)
            for name in package.needed_by:
                wants[ours["bom-ref"] if name is None else by_name[name]].add(package.purl)
    listed = sorted(components.values(), key=lambda one: one.purl)
    told = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": ours},
        "components": [_component(package, purposes[package]) for package in listed],
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(wants[ref])} for ref in (ours["bom-ref"], *sorted(components))
        ],
    }
    return {**told, "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMESPACE, json.dumps(told, sort_keys=True))}"}


def write(path: Path = BILL) -> Path:
    """Write the bill of materials; returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{json.dumps(bill(), indent=2)}\n", encoding="utf-8")
    return path


def _ours() -> dict[str, Any]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name, version = project["name"], project["version"]
    return {
        "type": "application",
        "bom-ref": f"{name}@{version}",
        "name": name,
        "version": version,
        "licenses": [{"expression": project["license"]}],
    }


def _component(package: Package, purposes: Iterable[str]) -> dict[str, Any]:
    shipped = any(purpose.startswith("layer ") for purpose in purposes)
    component = {
        "type": "library",
        "bom-ref": package.purl,
        "name": package.name,
        "version": package.version,
        "purl": package.purl,
        "scope": "required" if shipped else "excluded",
        "properties": [{"name": "clockwork:used-by", "value": purpose} for purpose in purposes],
    }
    if package.licence:
        component["licenses"] = [{"expression": package.licence}]
    if package.ecosystem == "npm":
        component["hashes"] = [_hash(one) for one in package.hashes]
    return component


def _hash(integrity: str) -> dict[str, str]:
    """A hash as CycloneDX writes it: `sha512-<base64>` is SHA-512 in hexadecimal digits."""
    algorithm, _, value = integrity.partition("-")
    return {"alg": algorithm.upper().replace("SHA", "SHA-"), "content": base64.b64decode(value).hex()}


if __name__ == "__main__":
    print(write(*map(Path, sys.argv[1:2])))
