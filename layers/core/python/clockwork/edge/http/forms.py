"""Forms: the fields of bodies that create jobs, written once for the two libraries that read them.

The library msgspec decides whether a body is taken, since it is loaded anyway and fast. The library pydantic lists the
faults of a refused body, with a model made of the same form (`models.model_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import msgspec

from clockwork.edge.http.checks import Checks

#: Gives an earlier field of the same object by its name: None if it has none, or it has faults.
Earlier = Callable[[str], Any]
#: Takes the value of a field and gives it as it is kept. Raises ValueError, or reports a fault. Never sees None.
FieldCheck = Callable[[Any, Checks, Earlier], Any]


class Form(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """A JSON object of the API: camelCase, exact types, no unknown fields.

    The bounds of a field stand in its annotation, as `msgspec.Meta`. Rules beyond bounds are in the checks below. Both
    libraries run them on fields that the request names, and never on a default.
    """

    # A pattern in a Meta ends with \Z and not with $, which in Python lets a line feed follow.

    #: The check of a field, beside its type and its bounds.
    field_checks: ClassVar[Mapping[str, FieldCheck]] = {}
    #: Fields whose faults are reported below one pointer, and belong below another.
    relocated: ClassVar[Mapping[str, tuple[str, str]]] = {}
    #: More of its JSON schema.
    more_schema: ClassVar[dict[str, Any]] = {}

    @classmethod
    def before(cls, value: dict[str, Any], checks: Checks) -> None:
        """Check the object as it was sent, before its fields are looked at."""

    def after(self, value: dict[str, Any], checks: Checks) -> None:
        """Check how fields without faults fit together. `value` is the object as it was sent."""

    @classmethod
    def taken(cls, value: Any, checks: Checks) -> Self:
        """The form of a value that has no fault, unless `checks` holds some then. Raises ValueError."""
        form = msgspec.convert(value, cls)
        form._check(value, checks)
        return form

    def _check(self, value: dict[str, Any], checks: Checks) -> None:
        self.before(value, checks)
        for name, sent in zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True):
            if sent not in value or (here := getattr(self, name)) is None:
                continue
            one_by_one = zip(here, value[sent], strict=True) if isinstance(here, list) else [(here, value[sent])]
            for part, part_sent in one_by_one:
                if isinstance(part, Form):
                    part._check(part_sent, checks)
            if (check := self.field_checks.get(name)) is not None:
                setattr(self, name, check(here, checks, self._earlier))
        self.after(value, checks)

    def _earlier(self, name: str) -> Any:
        return getattr(self, name, None)
