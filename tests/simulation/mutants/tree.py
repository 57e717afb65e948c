"""A copy of the tree in a folder of its own, in which one thing is broken at a time and checks are run."""

from __future__ import annotations

import compileall
import os
import py_compile
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.simulation.mutants.mutant import PACKAGE, Mutant

ROOT = Path(__file__).parents[3]
#: Left out of the copy, since no check reads them: environments, build output, and caches.
LEFT_OUT = (".*", "build", "__pycache__")
#: Programs that stand for AWS in tests of stores, which nobody changes: the copy has links to them.
LINKED = ("node_modules", ".venv-stack")


@dataclass(frozen=True)
class Done:
    """The result of a command. `code` is None if it did not end in time."""

    code: int | None
    out: str
    err: str


class Tree:
    """The copy. It stays as it was when taken, whatever happens to the working tree."""

    def __init__(self, place: Path) -> None:
        self.root = place / "tree"
        shutil.copytree(ROOT, self.root, ignore=shutil.ignore_patterns(*LEFT_OUT, *LINKED))
        for name in LINKED:
            (self.root / name).symlink_to(ROOT / name)
        self._sources = self.root / "layers" / "core" / "python"
        self.package = self._sources / PACKAGE.name
        # Bytecode is validated by a hash of its source: two edits within a second may have the same time and size.
        checked = py_compile.PycInvalidationMode.CHECKED_HASH
        compileall.compile_dir(self.root, quiet=1, invalidation_mode=checked, workers=1)

    @contextmanager
    def broken(self, mutant: Mutant) -> Iterator[None]:
        """Keeps the mutant's edit in the copy for the block. Raises Rotten."""
        file = self.package / mutant.file
        source = file.read_text()
        file.write_text(mutant.of(source))
        try:
            yield
        finally:
            file.write_text(source)

    def run(self, arguments: Sequence[str], seconds: float) -> Done:
        """Runs Python in the copy, on the copy's sources, and kills it after `seconds`."""
        environment = {
            **os.environ,
            "PYTHONPATH": f"{self._sources}{os.pathsep}{self.root}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
        }
        with subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                out, err = process.communicate()
                return Done(None, out, err)
        return Done(process.returncode, out, err)
