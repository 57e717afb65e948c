"""Synthesizes the CDK app into a cloud assembly, and keeps assemblies until their sources change."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ("app.py", "cdk.json", "constraints.txt", "infra", "layers", "lambdas")
#: How many assemblies stay under build/.
KEPT = 4


def assembly(context: Mapping[str, str]) -> Path:
    """The folder of the cloud assembly for this context (`-c name=value`); the `stage` must be named.

    Takes 7 s when the sources or the context are new. Raises CalledProcessError when the app fails.
    """
    folder = ROOT / "build" / f"cdk.out.{context['stage']}-{_digest(context)}"
    if not folder.is_dir():
        draft = folder.with_name(f"{folder.name}.{os.getpid()}")
        _run_app(draft, context)
        _publish(draft, folder)
    folder.touch()
    _forget_oldest()
    return folder


def _digest(context: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps([sys.version_info[:2], sorted(context.items())]).encode())
    for source in _files():
        digest.update(f"{source.relative_to(ROOT)}\n".encode())
        digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _files() -> Iterator[Path]:
    for source in map(ROOT.joinpath, SOURCES):
        for path in sorted(source.rglob("*")) if source.is_dir() else [source]:
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _run_app(folder: Path, context: Mapping[str, str]) -> None:
    flags = json.loads((ROOT / "cdk.json").read_text())["context"]
    environment = {
        **os.environ,
        "CDK_OUTDIR": str(folder),
        "CDK_CONTEXT_JSON": json.dumps({**flags, **context}),
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
        "JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION": "1",
        "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
    }
    subprocess.run([sys.executable, str(ROOT / "app.py")], cwd=ROOT, env=environment, check=True, stdout=sys.stderr)


def _publish(draft: Path, folder: Path) -> None:
    try:
        draft.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
        shutil.rmtree(draft)  # another process was faster


def _forget_oldest() -> None:
    kept = sorted((ROOT / "build").glob("cdk.out.*-*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in kept[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
