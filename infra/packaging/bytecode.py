"""Byte code for layers, compiled by an interpreter of the Lambdas' own version: no other can read it.

Without it each cold start compiles what it imports, since Lambda's /opt cannot be written to.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from pathlib import Path

#: The Lambdas' version of Python.
VERSION = (3, 14)
_NAME = "python{}.{}".format(*VERSION)
#: A release that is not final may write byte code that the final one does not read.
_IS_OURS = f"import sys; sys.exit(sys.version_info[:2] != {VERSION} or sys.version_info.releaselevel != 'final')"


@functools.cache
def account_interpreter() -> str | None:
    """An interpreter here that compiles for the account's Lambdas; None, once with a word why, if there is none."""
    found = shutil.which(_NAME)
    if found and subprocess.run([found, "-c", _IS_OURS], capture_output=True, check=False).returncode == 0:
        return found
    print(
        f"The layers have no byte code, since there is no {_NAME} on the PATH. All works, but each cold start compiles"
        " what it imports, and takes about twice as long.",
        file=sys.stderr,
        flush=True,
    )
    return None


def add_bytecode(folder: Path, interpreter: str) -> None:
    """Compile every module of a folder.

    Python uses the byte code without a look at the source (unchecked hash): an unpacked archive does not keep the time
    stamps that Python would compare otherwise. Paths in it begin with /opt, where Lambda unpacks layers, so that the
    byte code is the same on whatever machine it was made. A file that is no Python of this version is left as it is, as
    Python leaves it until it is imported.
    """
    command = [interpreter, "-m", "compileall", "-qq", "--invalidation-mode", "unchecked-hash"]
    subprocess.run([*command, "-s", str(folder), "-p", "/opt", str(folder)], check=False, stdout=sys.stderr)
