"""The transitions of executions on docs/architecture/states.md: two diagrams and two tables, made of the core's table.

`python -m tests.support.states` writes them between the page's marks; tests/unit/test_docs_architecture.py holds the
page to them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from clockwork.domain.executions import WAITING, State
from clockwork.domain.lifecycle import transitions
from clockwork.domain.lifecycle.transitions import ENDS_ATTEMPT, IS_ALL_KEPT, TRANSITIONS, Arrow
from infra import ROOT

PAGE = ROOT / "docs/architecture/states.md"
BEGIN, END = (f"<!-- transitions: {mark}, `python -m tests.support.states` -->\n" for mark in ("begin", "end"))
_NEW, _WAITING = "[*]", "waiting"
#: The guards of the core's table, by their names there.
GUARDS = {name.lower(): one for name, one in vars(transitions).items() if isinstance(one, transitions.Guard)}
#: Before, after and event of a line of a diagram.
Line = tuple[str, str, str]


def written(page: str) -> str:
    """The page with the transitions as they are in the core. Raises ValueError if the page has no place for them."""
    before, begin, rest = page.partition(BEGIN)
    _, end, behind = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page lacks {BEGIN!r} or {END!r}")
    return before + begin + _transitions() + end + behind


def _transitions() -> str:
    rows = [(one, arrow) for one in TRANSITIONS for arrow in one.arrows]
    attempts = [(one.event, arrow) for one, arrow in rows if _is_of_attempt(arrow)]
    others = [(one.event, arrow) for one, arrow in rows if not _is_of_attempt(arrow)]
    return "\n".join(
        (
            "\nAn attempt begins or ends:\n",
            *_diagram(line for event, arrow in attempts for line in _lines(event, arrow, together=False)),
            "\nNone does. Each waiting state has the arrows of `waiting`:\n",
            *_diagram(line for event, arrow in others for line in _lines(event, arrow, together=True)),
            "\n| event | from | to | guards | purpose |\n|---|---|---|---|---|",
            *(
                f"| {one.event} | {' | '.join(_cells(arrow))} | {one.purpose if arrow is one.arrows[0] else ''} |"
                for one, arrow in rows
            ),
            "\n| guard | holds if |\n|---|---|",
            *(f"| `{name}` | {guard.says} |" for name, guard in GUARDS.items()),
            "",
            "",
        )
    )


def _is_of_attempt(arrow: Arrow) -> bool:
    return State.RUNNING in {*arrow.before, *arrow.after} or ENDS_ATTEMPT in arrow.guards


def _lines(event: str, arrow: Arrow, *, together: bool) -> list[Line]:
    befores = _names(arrow.before, together=together)
    if IS_ALL_KEPT in arrow.guards:
        return [(one, one, event) for one in befores]
    return [(before, after, event) for before in befores for after in _names(arrow.after, together=False)]


def _diagram(lines: Iterable[Line]) -> Iterable[str]:
    """A diagram that has each pair of states once, with all events that lead from the one to the other."""
    events: dict[tuple[str, str], list[str]] = {}
    for before, after, event in lines:
        events.setdefault((before, after), []).append(event)
    arrows = (f"    {before} --> {after}: {', '.join(names)}" for (before, after), names in events.items())
    return ("```mermaid", "stateDiagram-v2", *arrows, "```")


def _cells(arrow: Arrow) -> tuple[str, str, str]:
    texts = {_NEW: "no record", _WAITING: _WAITING}
    before, after = (
        ", ".join(texts.get(name, f"`{name}`") for name in _names(states, together=True))
        for states in (arrow.before, arrow.after)
    )
    guards = ", ".join(f"`{name}`" for name, guard in GUARDS.items() if guard in arrow.guards)
    return before, "the same" if IS_ALL_KEPT in arrow.guards else after, guards


def _names(states: Collection[State | None], *, together: bool) -> list[str]:
    """The names of states in their usual order; `together`: all waiting ones have one name."""
    grouped = WAITING if together and {*states} >= WAITING else frozenset()
    singles = [str(one or _NEW) for one in (None, *State) if one in states and one not in grouped]
    return [*singles, _WAITING] if grouped else singles


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
