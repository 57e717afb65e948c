"""All faults of a workflow that can be found without the API, in its words.

`schema.json` has the shapes as the API describes them: `make openapi` writes it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from clockwork_client.errors import Fault, Invalid
from clockwork_client.workflows.faults import faults_of_graph
from clockwork_client.workflows.forms import faults_in

#: The most bytes of a definition as JSON.
LARGEST = 64 * 1024
_SCHEMA = Path(__file__).with_name("schema.json")


def check(target: object) -> None:
    """Raise Invalid with the faults of the target of a job, unless it is a workflow without any.

    Only the API judges the addresses of targets, and whether the client's lists have them.
    """
    faults = tuple(sorted(set(_faults_of(target))))
    if faults:
        raise Invalid(422, f"the workflow has {len(faults)} fault{'s' if len(faults) > 1 else ''}", faults)


def _faults_of(target: object) -> Iterator[Fault]:
    schemas = _schemas()
    found = list(faults_in(target, schemas["WorkflowTargetBody"], schemas, "/target"))
    yield from found
    if found or not isinstance(target, dict):
        return
    size = len(json.dumps(target, ensure_ascii=False, separators=(",", ":")).encode())
    if size > LARGEST:
        yield Fault("/target", f"has {size:,} bytes encoded, at most {LARGEST:,} are taken")
    yield from faults_of_graph(target["nodes"])


@lru_cache(maxsize=1)
def _schemas() -> Mapping[str, Any]:
    return dict(json.loads(_SCHEMA.read_text(encoding="utf-8")))
