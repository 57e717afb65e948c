"""Counts the instructions of work. Load of the machine moves times by a half, and leaves this count as it is.

The work runs in a process under callgrind of valgrind (https://valgrind.org/docs/manual/cl-manual.html). That process
asks its parent over pipes to switch the count on and off. The count therefore has nothing of imports and warm-ups. The
kernel's instructions are not counted, nor are those of other processes, such as a stub.

It fails where valgrind is missing (Uncounted), or where the process ends without a result (CalledProcessError).
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench.stubbed.interleaved import Cost, Work

_ON, _READ = "count", "read"
#: Instructions are told in thousands: of about the size of the times in us.
THOUSAND = 1_000


class Uncounted(Exception):
    """Nothing on this machine counts instructions."""


def counted(module: str, *arguments: str) -> Any:
    """The result of a module that counts: the last line that it prints, as JSON. Raises Uncounted."""
    with TemporaryDirectory() as folder:
        counts = Path(folder) / "counts"
        command = ["valgrind", "--quiet", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={counts}"]
        try:
            process = subprocess.Popen(
                [*command, sys.executable, "-m", module, *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env={**os.environ, "PYTHONHASHSEED": "0"},
            )
        except FileNotFoundError:
            raise Uncounted("instructions are counted by valgrind, which is not installed") from None
        with process:
            return json.loads(_serve(process, counts))


def count(ours: Work, bare: Work, jobs: int, runs: int) -> Cost:
    """The thousands of instructions per job of two ways, in a process that `counted` has begun."""
    for work in (ours, bare):
        work()
    gc.collect()
    gc.freeze()  # as in a Lambda's environment, once it is wired
    try:
        return Cost(*(_instructions_of(work, runs) / (jobs * runs * THOUSAND) for work in (ours, bare)))
    finally:
        gc.unfreeze()


def _instructions_of(work: Work, runs: int) -> int:
    gc.collect()
    _ask(_ON)
    for _ in range(runs):
        work()
    return int(_ask(_READ))


def _ask(what: str) -> str:
    print(what, flush=True)
    return sys.stdin.readline()


def _serve(process: subprocess.Popen[str], counts: Path) -> str:
    """Answer the process until it ends; its last line. Raises CalledProcessError."""
    assert process.stdin is not None
    assert process.stdout is not None
    last = ""
    for line in process.stdout:
        last = line.strip()
        if last == _ON:
            _control(process.pid, "instrumentation", "on")
        elif last == _READ:
            _control(process.pid, "dump")
            _control(process.pid, "instrumentation", "off")
        else:
            continue
        process.stdin.write(f"{_newest_total(counts) if last == _READ else 0}\n")
        process.stdin.flush()
    if process.wait():
        raise subprocess.CalledProcessError(process.returncode, process.args)
    return last


def _control(pid: int, *command: str) -> None:
    subprocess.run(["vgdb", f"--pid={pid}", *command], check=True, capture_output=True)


def _newest_total(counts: Path) -> int:
    """The instructions of the newest dump; each begins at zero."""
    dumps = counts.parent.glob(f"{counts.name}.*")
    newest = max(dumps, key=lambda dump: int(dump.suffix[1:]))
    (total,) = (line for line in newest.read_text().splitlines() if line.startswith("totals: "))
    return int(total.partition(" ")[2])
