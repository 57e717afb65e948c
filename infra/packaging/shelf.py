"""A cache of built folders under build/: each is built once and named after a digest of its sources."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from infra import ROOT

BUILD = ROOT / "build"
#: The number of folders of a kind that stay: those of this working copy, and a few earlier ones.
KEPT = 4


def shelved(kind: str, digest: str, build: Callable[[Path], None]) -> Path:
    """The folder of this kind and digest; `build` fills an empty one if there is none.

    Several processes may ask at once: the first that has finished provides the folder. An error of `build` is raised
    as it is, and leaves no folder.
    """
    folder = BUILD / f"{kind}-{digest}"
    if not folder.is_dir():
        print(f"Building {folder.relative_to(ROOT)}", file=sys.stderr, flush=True)
        draft = BUILD / f"draft-{os.getpid()}-{folder.name}"
        draft.mkdir(parents=True)
        try:
            build(draft)
            _open_to_all(draft)
            _publish(draft, folder)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    folder.touch()  # the folder is in use, so it is the last to be removed
    _forget_oldest(kind)
    return folder


def digest_of(sources: Iterable[Path], *traits: object) -> str:
    """A digest of the sources (files, and folders with all their files) and of `traits` that make a difference, too."""
    digest = hashlib.sha256(repr(traits).encode())
    for path in _files(sources):
        digest.update(f"{path.relative_to(ROOT)}\n".encode())
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _files(sources: Iterable[Path]) -> Iterator[Path]:
    for source in sources:
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _open_to_all(folder: Path) -> None:
    """Let everybody read: Lambda runs as a user of its own, and keeps the modes that files had where they were packed.

    https://docs.aws.amazon.com/lambda/latest/dg/troubleshooting-deployment.html
    """
    for path in (folder, *folder.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(mode | (0o555 if path.is_dir() or mode & 0o100 else 0o444))


def _publish(draft: Path, folder: Path) -> None:
    try:
        draft.rename(folder)
    except OSError:
        if not folder.is_dir():  # otherwise another process was faster
            raise


def _forget_oldest(kind: str) -> None:
    newest_first = sorted(BUILD.glob(f"{kind}-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in newest_first[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
