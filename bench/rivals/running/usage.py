"""CPU and memory of processes with all that they have started, as Linux counts them in /proc.

https://man7.org/linux/man-pages/man5/proc.5.html
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
#: Fields of /proc/PID/stat after the name: the parent; then CPU of user and system, own and of children waited for.
_PARENT, _CPU = 1, slice(11, 15)


def tree(roots: Iterable[int]) -> list[int]:
    """The processes with these ids that live, and all their descendants."""
    children = defaultdict(list)
    for pid in _living():
        if fields := _stat(pid):
            children[int(fields[_PARENT])].append(pid)
    found, left = [], list(roots)
    while left:
        pid = left.pop()
        found.append(pid)
        left += children[pid]
    return [pid for pid in found if (_PROC / str(pid)).exists()]


def cpu_seconds(pids: Iterable[int]) -> float:
    """CPU that these processes have used, with that of children which they have waited for."""
    return sum(sum(int(ticks) for ticks in _stat(pid)[_CPU]) for pid in pids) / _TICKS


def memory_bytes(pids: Iterable[int]) -> int:
    """Memory that these processes hold; what several share counts once (the proportional set size)."""
    return sum(_pss(pid) for pid in pids)


def _living() -> list[int]:
    return [int(path.name) for path in _PROC.iterdir() if path.name.isdigit()]


def _stat(pid: int) -> list[str]:
    """The fields after the name of a process, which may itself contain blanks; none if it has ended."""
    try:
        return (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return []


def _pss(pid: int) -> int:
    try:
        lines = (_PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return sum(int(line.split()[1]) * 1_024 for line in lines if line.startswith("Pss:"))
