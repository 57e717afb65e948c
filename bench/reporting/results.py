"""Results that are kept with the code: other benchmarks reckon with them, and tests hold the documentation to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infra import ROOT

RESULTS = ROOT / "bench/results"


def keep(name: str, result: object, folder: Path = RESULTS) -> None:
    """Keep the result of a benchmark in place of its last one."""
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def kept(name: str, folder: Path = RESULTS) -> Any:
    """The result that was kept last. Raises FileNotFoundError if there is none."""
    return json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
