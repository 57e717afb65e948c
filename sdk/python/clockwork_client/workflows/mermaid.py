"""Pictures of workflows and of runs, as flowcharts of mermaid.

https://mermaid.js.org/syntax/flowchart.html
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from clockwork_client.inert import inert

#: The looks of a node by its state.
_LOOKS = {
    "SUCCEEDED": "fill:#d3f2dc,stroke:#1a7f37,color:#0b3d1a",
    "RUNNING": "fill:#d8e8ff,stroke:#0a5bd3,color:#06316f",
    "RELEASED": "fill:#e8f0ff,stroke:#0a5bd3,color:#06316f",
    "WAITING": "fill:#f4f4f5,stroke:#71717a,color:#27272a",
    "DEAD": "fill:#ffdedc,stroke:#c1281d,color:#5c0f09",
    "EXPIRED": "fill:#ffe8cf,stroke:#b35900,color:#5c2e00",
    "CANCELLED": "fill:#ece4f5,stroke:#6f42a5,color:#38215a",
    "UNREACHED": "fill:#ffeeed,stroke:#c1281d,color:#5c0f09,stroke-dasharray:4",
    "SKIPPED": "fill:#fafafa,stroke:#a1a1aa,color:#52525b,stroke-dasharray:4",
}


class Drawn(NamedTuple):
    """A node in a picture. `state` is None where there is no run."""

    name: str
    after: tuple[str, ...]
    when: str
    state: str | None


def mermaid(nodes: Iterable[Drawn]) -> str:
    """A flowchart from left to right: dotted edges lead to nodes that run after a failure, or in any case."""
    found = list(nodes)
    # A name may be a word of mermaid, such as "end".
    ids = {one.name: f"n{place}" for place, one in enumerate(found)}
    lines = ["flowchart LR"]
    for one in found:
        label = one.name if one.state is None else f"{one.name}<br/>{one.state}"
        lines.append(f'  {ids[one.name]}["{_text(label)}"]')
    for one in found:
        arrow = "-->" if one.when == "succeeded" else f"-. {_text(one.when)} .->"
        lines += [f"  {ids[parent]} {arrow} {ids[one.name]}" for parent in one.after if parent in ids]
    states = list(dict.fromkeys(one.state for one in found if one.state is not None))
    lines += [f"  classDef {state.lower()} {_LOOKS[state]}" for state in states if state in _LOOKS]
    for state in states:
        if state in _LOOKS:
            lines.append(f"  class {','.join(ids[one.name] for one in found if one.state == state)} {state.lower()}")
    return "\n".join(lines) + "\n"


def _text(label: str) -> str:
    """A label that can neither end its quotes nor be markup, but for the line break between name and state."""
    parts = label.split("<br/>", 1)
    return "<br/>".join(
        "".join(one if one.isalnum() or one in "_- " else f"#{ord(one)};" for one in inert(part)) for part in parts
    )
