"""Targets as people write them: a URL, the ARN of a resource of AWS, `kafka:topic`, or `pool:name/handler`."""

from __future__ import annotations

import re
from collections.abc import Callable

from clockwork_client import targets
from clockwork_client.answers import Target

_ARN = re.compile(r"arn:[\w-]+:(\w+):")


def maker_of(text: str) -> tuple[Callable[..., Target], list[str]]:
    """The function that makes the target at a place, and its arguments. Raises ValueError for a place of no target."""
    match = _ARN.match(text)
    kind, _, rest = text.partition(":")
    if match and match[1] in targets.OF_ARNS:
        return targets.OF_ARNS[match[1]], [text]
    if text.startswith(("https://", "http://")):
        return targets.http, [text]
    if kind == "kafka" and rest:
        return targets.kafka, [rest]
    if kind == "pool" and rest:
        return targets.pool, list(rest.partition("/")[::2])
    known = ", ".join(targets.OF_ARNS)
    raise ValueError(f"{text!r} is no target: https://..., kafka:TOPIC, pool:NAME/HANDLER, or an ARN of {known}")


def target_at(place: Target | str) -> Target:
    """The target at a place. A target that was made already stays the same. Raises ValueError."""
    if not isinstance(place, str):
        return place
    make, arguments = maker_of(place)
    # By their names alone: `inspect` takes long to load.
    code, defaults = make.__code__, make.__kwdefaults__ or {}
    known = code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount]
    if lacking := [name for name in known if name not in defaults]:
        raise ValueError(f"a target at {place!r} needs {' and '.join(lacking)}: {make.__name__}(...) takes them")
    return make(*arguments)
