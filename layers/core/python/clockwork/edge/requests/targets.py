"""Targets as requests name them: a form of each type in the registry, made of the fields that are stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Union

import msgspec

from clockwork.edge.http.checks import Checks
from clockwork.edge.http.fields import kept
from clockwork.edge.http.forms import Earlier, FieldCheck, Form
from clockwork.edge.requests.own_resources import not_own
from clockwork.targets.registry import TARGETS, Target
from clockwork.targets.target import Asked, AskedField, StoredTarget, fields_of, why_unlisted

_BOUNDS = ("ge", "le", "min_length", "max_length", "pattern", "description")


class TargetForm(Form, tag_field="type"):
    """A target of one type: its tag, and the struct as which it is kept."""

    kept_as: ClassVar[type[StoredTarget]]

    @classmethod
    def before(cls, value: dict[str, Any], checks: Checks) -> None:  # noqa: ARG003 - whatever it says
        """Report that this deployment has no such targets."""
        if not cls.kept_as.is_supported(checks.settings):
            checks.report("/target/type", "is not supported by this deployment")

    def after(self, value: dict[str, Any], checks: Checks) -> None:  # noqa: ARG002 - of all forms
        """Report what the fields do not say each by itself."""
        asked: Any = self  # It has the fields that its target is asked about.
        for name, fault in self.kept_as.faults(asked, checks):
            checks.report(f"/target/{name}", fault)


def _form_of(target: type[StoredTarget]) -> type[TargetForm]:
    fields = fields_of(target)
    namespace = {
        "__doc__": target.__doc__,
        "kept_as": target,
        "field_checks": {field.name: _check_of(field.asked) for field in fields if field.asked.is_checked},
    }
    form: Any = msgspec.defstruct(
        f"{target.__name__}Body",
        [(field.name, _type_of(field), field.default) for field in fields],
        bases=(TargetForm,),
        tag=target.__struct_config__.tag,
        namespace=namespace,
        module=__name__,
        kw_only=True,
    )
    return form  # type: ignore[no-any-return]


def _type_of(field: AskedField) -> Any:
    kind = Literal[field.asked.values] if field.asked.values else field.kind
    bounds = {name: bound for name in _BOUNDS if (bound := getattr(field.asked, name)) is not None}
    kind = Annotated[kind, msgspec.Meta(**bounds)] if bounds else kind
    return kind | None if field.default is None else kind


def _check_of(asked: Asked) -> FieldCheck:
    """The check of a field: its own, then the client's list, which never opens what is Clockwork's own."""

    def check(value: Any, checks: Checks, earlier: Earlier) -> Any:
        if asked.check is not None:
            value = asked.check(value, checks, earlier)
        if asked.listed is None:
            return value
        if (reason := why_unlisted(checks.client, asked.listed, value)) is not None:
            raise ValueError(reason)
        return not_own(value, checks)

    return check


FORMS = {str(target.__struct_config__.tag): _form_of(target) for target in TARGETS}
if TYPE_CHECKING:
    TargetBody = TargetForm
else:
    TargetBody = Union[tuple(FORMS.values())]  # noqa: UP007 - of as many as there are


def kept_target(body: TargetForm, checks: Checks, ordering_key: str | None = None) -> Target:
    """The target as it is kept. A target that keeps an order by itself gets a key of the job's ordering key."""
    target: Any = kept(body.kept_as, body, **body.kept_as.kept(body, checks))
    return target if ordering_key is None else target.in_order(ordering_key)  # type: ignore[no-any-return]
