"""Models of pydantic: the bodies of rare operations, and forms whose faults are to be listed.

pydantic takes long to load, so no code on the way to a job without faults imports this module.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    ValidationInfo,
    WrapValidator,
    create_model,
    model_validator,
)
from pydantic.alias_generators import to_camel

from clockwork.edge.http.checks import Checks
from clockwork.edge.http.forms import FieldCheck, Form

#: The bounds that both libraries know by these names.
_BOUNDS = ("ge", "gt", "le", "lt", "multiple_of", "min_length", "max_length", "pattern", "description")


class EdgeModel(BaseModel):
    """A JSON object of the API: camelCase, exact types, no unknown fields."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", strict=True, allow_inf_nan=False)


def checks_of(info: ValidationInfo) -> Checks:
    """The Checks of the validation that runs."""
    assert isinstance(info.context, Checks)
    return info.context


class AsForm:
    """In the annotation of a model's field that is a form: `Annotated[ScheduleBody, AsForm()]`."""

    def __get_pydantic_core_schema__(self, form: type[Form], handler: Callable[[Any], Any]) -> Any:
        """How pydantic validates the form."""
        return handler(model_of(form))


def bounded(meta: msgspec.Meta) -> Any:
    """The bounds of a form's field as a field of a model has them."""
    given: dict[str, Any] = {name: value for name in _BOUNDS if (value := getattr(meta, name)) is not None}
    if "pattern" in given:
        given["pattern"] = given["pattern"].replace(r"\Z", "$")  # Rust's $ is the very end
    if meta.extra_json_schema:
        given["json_schema_extra"] = meta.extra_json_schema
    return Field(**given)


@cache
def model_of(form: type[Form]) -> type[BaseModel]:
    """The model that takes what the form takes, and that makes the form of it."""
    tag = form.__struct_config__.tag
    fields: dict[str, Any] = {} if tag is None else {"type": (Literal[tag], ...)}
    given = {field.name: field for field in msgspec.structs.fields(form)}
    # What a form has of another one comes first, as pydantic has it for classes.
    bases = [base for base in reversed(form.__mro__) if issubclass(base, Form)]
    names = [name for base in bases for name in base.__struct_fields__]
    for field in map(given.__getitem__, dict.fromkeys(names)):
        default = ... if field.required else field.default
        if field.default_factory is not msgspec.NODEFAULT:
            default = field.default_factory()
        kind = _checked(form, field.name, _type_of(field.type))
        # A name that Python keeps for itself, or that another member of the form has.
        named = kind if field.encode_name == to_camel(field.name) else Annotated[kind, Field(alias=field.encode_name)]
        fields[field.name] = (named, default)
    base = type(form.__name__, (EdgeModel,), {"model_config": ConfigDict(json_schema_extra=form.more_schema or None)})
    whole: Any = model_validator(mode="wrap")(_whole(form))
    return create_model(form.__name__, __base__=base, __doc__=form.__doc__, __validators__={"whole": whole}, **fields)


#: The jobs of a batch have the same few objects.
@lru_cache(maxsize=256)
def fields_at(model: type[BaseModel], location: tuple[int | str, ...]) -> tuple[str, ...]:
    """The names of the fields that an object inside a body may have. Its location is that of a fault by pydantic."""
    here = [model]
    for part in location:
        below = [field for one in here for field in one.model_fields.values() if field.alias == part]
        # A part that names no field is an index, a key, or the type that pydantic chose of several.
        chosen = [one for one in here if _tag_of(one) == part] or here
        here = [one for field in below for one in _models_in(field.annotation)] if below else chosen
    return tuple(dict.fromkeys(field.alias or name for one in here for name, field in one.model_fields.items()))


def _tag_of(model: type[BaseModel]) -> Any:
    kind = model.model_fields.get("type")
    return None if kind is None else next(iter(get_args(kind.annotation)), None)


def _models_in(kind: Any) -> list[type[BaseModel]]:
    """The models in a type, whatever holds them."""
    if isinstance(kind, type) and issubclass(kind, BaseModel | Form):
        return [model_of(kind) if issubclass(kind, Form) else kind]
    return [model for part in get_args(kind) for model in _models_in(part)]


def _whole(form: type[Form]) -> Any:
    def whole(cls: Any, value: Any, handler: Callable[[Any], Any], info: ValidationInfo) -> Form:  # noqa: ARG001
        checks = checks_of(info)
        if isinstance(value, dict):
            form.before(value, checks)
        made = handler(value)
        body = form(**{name: getattr(made, name) for name in form.__struct_fields__})
        body.after(value, checks)
        return body

    return classmethod(whole)


def _checked(form: type[Form], name: str, kind: Any) -> Any:
    """The type of a field together with its checks."""
    if (check := form.field_checks.get(name)) is not None:
        kind = Annotated[kind, AfterValidator(_after(check))]
    if (places := form.relocated.get(name)) is not None:
        kind = Annotated[kind, WrapValidator(_elsewhere(*places))]
    return kind


def _after(check: FieldCheck) -> Any:
    def after(value: Any, info: ValidationInfo) -> Any:
        return None if value is None else check(value, checks_of(info), info.data.get)

    return after


def _elsewhere(pointer: str, other: str) -> Any:
    def elsewhere(value: Any, handler: Callable[[Any], Any], info: ValidationInfo) -> Any:
        with checks_of(info).relocated(pointer, other):
            return handler(value)

    return elsewhere


def _type_of(kind: Any) -> Any:
    """A type of msgspec as pydantic writes it."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        fields = [bounded(one) for one in kind.__metadata__ if isinstance(one, msgspec.Meta)]
        return reduce(lambda inner, field: Annotated[inner, field], fields, _type_of(arguments[0]))
    if origin in (Union, UnionType):
        return _either(arguments)
    if origin in (list, dict):
        return origin[tuple(map(_type_of, arguments))]
    return model_of(kind) if isinstance(kind, type) and issubclass(kind, Form) else kind


def _either(kinds: tuple[Any, ...]) -> Any:
    """A union; objects in it are told apart by their type."""
    tagged = [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Form)]
    others = [_type_of(kind) for kind in kinds if kind not in tagged]
    models = [model_of(kind) for kind in tagged]
    one = [Annotated[reduce(or_, models), Discriminator("type")]] if len(models) > 1 else models
    return Union[(*one, *others)]
