"""All faults of a query at once: names that its operation does not know, and values that are not as described."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from clockwork.domain import ids, instants
from clockwork.domain.errors import InvalidRequest, Problem
from clockwork.domain.storage.attention import Kind
from clockwork.edge.description import late
from clockwork.edge.description.parameters import PARAMETERS, query_of
from clockwork.edge.http.checks import LONGEST_NAME, MOST_COMPARED, MOST_FAULTS, listed
from clockwork.edge.http.request import in_query

#: A request may be signed in its query instead of its headers; these are then part of it, in any case.
#: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-authentication-methods.html
SIGNATURE = frozenset(
    f"x-amz-{name}"
    for name in ("algorithm", "credential", "date", "expires", "security-token", "signature", "signedheaders")
)


def check_query(operation: str, query: Mapping[str, str]) -> None:
    """Raise InvalidRequest with every fault that a query of an operation has in itself.

    How values fit together, or a client, is the operation's to check.
    """
    known = query_of(operation)
    faults = []
    for name, text in query.items():
        if name in known:
            fault = _fault_of(known[name], text)
        else:
            fault = None if name.lower() in SIGNATURE else _unknown(name, known, len(query))
        if fault is not None:
            faults.append(Problem(in_query(name[:LONGEST_NAME]), fault))
    if faults:
        raise InvalidRequest(listed(faults, MOST_FAULTS))


def _unknown(name: str, known: Mapping[str, str], given: int) -> str:
    """The fault of a parameter that an operation does not know, of so many parameters of a request."""
    meant = late.meant_by(name, list(known)) if given <= MOST_COMPARED else ""
    begins = f"is not a known query parameter{meant}"
    return f"{begins}{' This' if meant else ': this'} operation takes {', '.join(known) or 'none'}"


def _fault_of(name: str, text: str) -> str | None:
    """The fault of a value of this name in PARAMETERS; None if it has none."""
    schema = PARAMETERS[name]["schema"]
    if "enum" in schema:
        return None if text in schema["enum"] else f"must be one of {', '.join(schema['enum'])}"
    if schema["type"] == "integer":
        return _fault_of_number(schema, text)
    if len(text) > schema.get("maxLength", len(text)):
        return f"must have at most {schema['maxLength']} characters"
    if schema.get("format") == "date-time" and (fault := _fault_of_instant(text)) is not None:
        return fault
    check = _CHECKS.get(name)
    return None if check is None else check(text)


def _fault_of_number(schema: Mapping[str, Any], text: str) -> str | None:
    least, most, step = schema["minimum"], schema["maximum"], schema.get("multipleOf", 1)
    if re.fullmatch(r"[0-9]{1,9}", text) and least <= int(text) <= most and int(text) % step == 0:
        return None
    kind = f"a multiple of {step} from {least} to {most}" if step > 1 else f"{least}-{most}"
    return f"must be {kind}, for example {schema['default']}"


def _fault_of_instant(text: str) -> str | None:
    try:
        instants.from_text(text)
    except ValueError as fault:
        return str(fault)
    return None


def _fault_of_range(text: str) -> str | None:
    return None if 0 <= instants.from_text(text) <= instants.LAST else "is out of 1970-2286"


def _fault_of_key(text: str) -> str | None:
    return None if not text or ids.is_job_key(text) else "must be a jobKey or its beginning, for example daily-"


def _fault_of_kinds(text: str) -> str | None:
    kinds, known = text.split(","), get_args(Kind)
    if set(kinds) <= set(known) and len(set(kinds)) == len(kinds):
        return None
    return f"must be one or more of {', '.join(known)}, for example {','.join(known)}"


#: By the name in PARAMETERS, of values that are as their schemas ask for.
_CHECKS: dict[str, Callable[[str], str | None]] = {
    "from": _fault_of_range,
    "to": _fault_of_range,
    "jobKey": _fault_of_key,
    "prefix": _fault_of_key,
    "kind": _fault_of_kinds,
}
