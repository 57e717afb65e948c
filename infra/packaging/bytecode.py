"""Byte code for layers, compiled by an interpreter of the Lambdas' own version: no other can read it.

Without byte code each cold start compiles its imports, since Lambda's /opt cannot be written to.
"""

from __future__ import annotations

import functools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from infra import ROOT

#: The Lambdas' version of Python.
VERSION = "3.14"
#: CPython as WebAssembly, so that the same interpreter compiles on every machine. `make setup` installs it.
PYODIDE = ROOT / "node_modules/pyodide/package.json"
PROGRAM = Path(__file__).with_name("compile.mjs")


@dataclass(frozen=True)
class Compiler:
    """Compiles every module of a folder. The output depends on `version`.

    Python uses the byte code without a look at the source (unchecked hash): an unpacked archive does not keep the time
    stamps that Python would compare otherwise. Paths in the byte code begin with /opt, where Lambda unpacks layers, so
    that every machine makes the same byte code. A file that is no Python of this version is left out, as Python does
    until the file is imported.
    """

    version: str
    compile: Callable[[Path], None]


def local_compiler() -> Compiler:
    """The interpreter of this process, for the emulator's Lambdas."""
    return Compiler("{}.{}".format(*sys.version_info), _compile_here)


@functools.cache
def account_compiler() -> Compiler | None:
    """A compiler for the account's Lambdas; None, once with a word why, if this machine cannot run it."""
    node = shutil.which("node")
    if node and PYODIDE.exists():
        return Compiler(json.loads(PYODIDE.read_text())["version"], functools.partial(_compile_for_account, node))
    missing = "no node on the PATH" if not node else f"no {PYODIDE.parent.relative_to(ROOT)}: run `make setup`"
    print(
        f"The layers have no byte code, since there is {missing}. All works, but each cold start compiles what it"
        " imports, and takes about twice as long.",
        file=sys.stderr,
        flush=True,
    )
    return None


def _compile_here(folder: Path) -> None:
    command = [sys.executable, "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*command, "-s", str(folder), "-p", "/opt", str(folder)], check=False, stdout=sys.stderr)


def _compile_for_account(node: str, folder: Path) -> None:
    """Raises CalledProcessError if the interpreter does not start, or is no final release of `VERSION`."""
    subprocess.run([node, str(PROGRAM), str(folder), VERSION], check=True, stdout=sys.stderr)
