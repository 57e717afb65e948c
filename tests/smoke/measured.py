"""Writes what a smoke has measured, one file a run."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infra import ROOT
from tests.smoke.evidence import Evidence
from tests.smoke.judging.checks import figures

FOLDER = ROOT / "docs/measured"


def write(stage: str, region: str, line: Mapping[str, Any], seen: Evidence, folder: Path = FOLDER) -> Path:
    """Write the last line of a run with all of its figures; a second run of a minute takes the place of the first."""
    at = time.gmtime(seen.upgrade.began_at / 1_000)
    path = folder / f"{time.strftime('%Y-%m-%dT%H%MZ', at)}-{stage}.json"
    facts = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", at), "region": region, **line, "figures": figures(seen)}
    folder.mkdir(exist_ok=True)
    path.write_text(json.dumps(facts, indent=2) + "\n")
    return path
