"""Makes another version of an assembly, as a change of Clockwork's code would: every Lambda gets a new version."""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from clockwork.settings import LIVE

_STACK = "Clockwork"
_CORE = "LayersCore"
#: Whatever names an asset or a resource by what changes.
_INDEXES = (f"{_STACK}.template.json", f"{_STACK}.assets.json", "manifest.json", f"{_STACK}.metadata.json")


def another_version(assembly: Path, into: Path) -> Path:
    """A copy whose core layer has one more file. Names of assets follow content, so that nobody takes the old ones."""
    shutil.copytree(assembly, into, symlinks=True)
    template = json.loads((assembly / f"{_STACK}.template.json").read_text())
    core = core_of(template)
    build = uuid.uuid4().hex
    (into / f"asset.{core}").rename(into / f"asset.{_digest(core, build)}")
    (into / f"asset.{_digest(core, build)}" / "build.txt").write_text(build)
    renamed = {core: _digest(core, build), **{name: f"{name[:-32]}{build}" for name in versions_of(template)}}
    for name in _INDEXES:
        if (path := into / name).exists():
            path.write_text(replaced(path.read_text(), renamed))
    _rename_template(into)
    return into


def core_of(template: Mapping[str, Any]) -> str:
    """The name of the asset of the core layer."""
    (found,) = (one for name, one in template["Resources"].items() if name.startswith(_CORE))
    return str(found["Properties"]["Content"]["S3Key"]).removesuffix(".zip")


def versions_of(template: Mapping[str, Any]) -> list[str]:
    """The logical ids of the Lambdas' versions. Each ends in a digest of 32 characters of what it is a version of."""
    return [name for name, one in template["Resources"].items() if one["Type"] == "AWS::Lambda::Version"]


def replaced(text: str, renamed: Mapping[str, str]) -> str:
    """A text with other names."""
    for name, other in renamed.items():
        text = text.replace(name, other)
    return text


def _rename_template(assembly: Path) -> None:
    """The template is an asset, too: under its old name it would be taken for one that has been uploaded."""
    path = assembly / f"{_STACK}.assets.json"
    assets = json.loads(path.read_text())
    (old,) = (name for name, one in assets["files"].items() if one["source"]["path"] == f"{_STACK}.template.json")
    new = _digest(old, (assembly / f"{_STACK}.template.json").read_text())
    for index in (path, assembly / "manifest.json"):
        index.write_text(index.read_text().replace(old, new))


def live_versions(client: Callable[[str], Any], functions: Mapping[str, str]) -> dict[str, str]:
    """The version of each function that works at the moment."""
    asked = client("lambda")
    return {
        moment: str(asked.get_alias(FunctionName=function, Name=LIVE)["FunctionVersion"])
        for moment, function in functions.items()
    }


def _digest(*parts: str) -> str:
    return hashlib.sha256("".join(parts).encode()).hexdigest()
