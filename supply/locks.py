"""Reads the locked packages: the locks of Python's packages, and npm's `package-lock.json`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from supply import ROOT

#: Purpose -> its lock. The purposes that reach an account come first.
LOCKS = {
    "layer vendor": ROOT / "layers/vendor/requirements.lock",
    "layer edge": ROOT / "layers/edge/requirements.lock",
    "layer kafka": ROOT / "layers/kafka/requirements.lock",
    "setup": ROOT / "requirements-run.lock",
    "emulator": ROOT / "local/requirements.lock",
    "tests": ROOT / "requirements-dev.lock",
}
NPM_LOCK = ROOT / "package-lock.json"

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)")
_VIA = re.compile(r"^    #(?: via)?(?:\s+(.+))?$")


@dataclass(frozen=True)
class Package:
    """One version of a package.

    `hashes` are those of its files, as pip or npm writes them. `needed_by` are names of packages; None among them is
    the file of requirements itself. `licence` is an SPDX expression, and empty where the lock names none.
    """

    ecosystem: str
    name: str
    version: str
    hashes: tuple[str, ...] = ()
    needed_by: frozenset[str | None] = frozenset()
    licence: str = ""

    @property
    def purl(self) -> str:
        """Its package URL: https://github.com/package-url/purl-spec."""
        return f"pkg:{self.ecosystem}/{self.name.replace('@', '%40')}@{self.version}"


@dataclass
class _Entry:
    name: str
    version: str
    hashes: list[str] = field(default_factory=list)
    via: list[str] = field(default_factory=list)

    def package(self) -> Package:
        needed_by = {None if one.startswith("-r ") else one for one in self.via if not one.startswith("-c ")}
        return Package("pypi", self.name, self.version, tuple(self.hashes), frozenset(needed_by))


def python_packages(lock: Path) -> list[Package]:
    """The packages of a lock that `make lock` wrote, in its order. Raises ValueError for a line that is none of it."""
    entries: list[_Entry] = []
    for line in lock.read_text(encoding="utf-8").splitlines():
        if pin := _PIN.match(line):
            entries.append(_Entry(pin[1], pin[2]))
        elif hashed := re.search(r"^ {4}--hash=(\S+)", line):
            entries[-1].hashes.append(hashed[1])
        elif via := _VIA.match(line):
            entries[-1].via += [via[1]] if via[1] else []
        elif line.strip() and not line.startswith("#"):
            raise ValueError(f"{lock}: {line!r} is neither a package nor a hash of one")
    return [entry.package() for entry in entries]


def npm_packages(lock: Path = NPM_LOCK) -> list[Package]:
    """The packages of npm's lock, in its order."""
    entries = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    return [
        Package(
            "npm",
            entry.get("name", _npm_name(place)),
            entry["version"],
            (entry["integrity"],),
            frozenset(_wanting(entries, place)),
            entry.get("license", ""),
        )
        for place, entry in entries.items()
        if place
    ]


def _wanting(entries: dict[str, dict[str, dict[str, str]]], place: str) -> Iterator[str | None]:
    for by, entry in entries.items():
        kinds = ("dependencies", "devDependencies", "optionalDependencies")
        if any(_npm_name(place) in entry.get(kind, {}) for kind in kinds):
            yield _npm_name(by) if by else None


def _npm_name(place: str) -> str:
    return place.rpartition("node_modules/")[2]
