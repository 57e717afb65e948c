"""Files that are made of the registry of targets: the client's module, the API's page, the schema of deployment.json.

The shapes of a workflow, by which the client checks one without the API, are made of the description. The example of
deployment.json gets the options that the example lacks.

`python -m tests.support.generated` writes it, after `make openapi`. A test holds each file to it.
"""

from __future__ import annotations

import json
import keyword
import re
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec

from clockwork.edge.description.openapi import describe
from clockwork.targets.registry import LISTED, LISTED_ARNS, SERVICE_TARGETS, TARGETS
from clockwork.targets.service import ServiceTarget
from clockwork.targets.target import AskedField, StoredTarget, fields_of
from infra import ROOT
from infra.deployment.schema import OPTIONS

CLIENT = ROOT / "sdk/python/clockwork_client/targets.py"
PAGE = ROOT / "docs/api.md"
SCHEMA = ROOT / "deployment.schema.json"
EXAMPLE = ROOT / "deployment.example.json"
SHAPES = ROOT / "sdk/python/clockwork_client/workflows/schema.json"
WIDTH = 120
_HEAD = '''"""Targets: the classes of answers, and the functions that make targets for requests.

`make openapi` writes this file from the registry of targets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from clockwork_client.answers import Target
from clockwork_client.objects import Duration, made
'''
_PLAIN = {
    str: "str",
    float: "float",
    bool: "bool",
    list[str]: "Sequence[str]",
    dict[str, str]: "Mapping[str, str]",
}


def offered() -> dict[Path, str]:
    """The two modules that list what the client offers, with the functions that make targets as they are now."""
    public = CLIENT.with_name("public.py")
    of_targets = re.compile(r"from clockwork_client\.targets import (\([^)]*\)|.*)")
    before = set(re.findall(r"\w+", of_targets.findall(public.read_text(encoding="utf-8"))[0]))
    names = sorted(map(name_of, TARGETS))
    line = f"from clockwork_client.targets import {', '.join(names)}"
    if len(line) > WIDTH:
        line = "from clockwork_client.targets import (\n" + "".join(f"    {name},\n" for name in names) + ")"
    found = {}
    for path in (public, CLIENT.with_name("__init__.py")):
        text = of_targets.sub(line, path.read_text(encoding="utf-8"))
        listed = set(re.findall(r'^    "(\w+)",$', text, re.MULTILINE)) - before | set(names)
        in_order = sorted(listed, key=lambda name: (name[0].islower(), name))
        whole = "".join(f'    "{name}",\n' for name in in_order)
        found[path] = re.sub(r"__all__ = \[\n[^\]]*\]", f"__all__ = [\n{whole}]", text)
    return found


def client_module() -> str:
    """The module of the client with a class and a function for each type of target."""
    makers = sorted(map(name_of, TARGETS))
    listed = f"__all__ = [\n{''.join(f'    {maker!r},{chr(10)}' for maker in makers)}]\n".replace("'", '"')
    by_service = "".join(f'    "{target.service.in_arns}": {name_of(target)},\n' for target in SERVICE_TARGETS)
    of_arns = "#: By the service in the ARN of its first argument.\nOF_ARNS: Mapping[str, Callable[..., Target]] = "
    of_arns += f"{{\n{by_service}}}\n"
    enveloped = "#: The types whose payloads travel in an envelope, unless a job asks for none.\nENVELOPED = "
    tell_ends = "#: The types whose ends AWS tells.\nTELL_ENDS = "
    tuples = f"{enveloped}{_tags('is_enveloped')}\n{tell_ends}{_tags('tells_end')}\n"
    parts = [_HEAD + "\n" + listed, *map(_class, TARGETS), *map(_function, TARGETS)]
    return "\n\n".join([*parts, of_arns + tuples])


def _tags(trait: str) -> str:
    """The types with a trait, as a tuple in Python."""
    tags = (json.dumps(_tag(one)) for one in SERVICE_TARGETS if getattr(one, trait))
    return f"({', '.join(tags)})"


def name_of(target: type[StoredTarget]) -> str:
    """The name of the function that makes such a target: its type, or its module's name if that is none in Python."""
    tag = _tag(target)
    return tag if tag.islower() and not keyword.iskeyword(tag) else target.__module__.rpartition(".")[2]


def _class(target: type[StoredTarget]) -> str:
    fields = "".join(
        f"    {one.name}: {_read(one)}{'' if one.default is msgspec.NODEFAULT else ' | None'}\n"
        for one in fields_of(target)
    )
    return f'class {target.__name__}(Target):\n    """{target.shown_as}"""\n\n{fields}'


def _function(target: type[StoredTarget]) -> str:
    fields, name = fields_of(target), name_of(target)
    required = [one for one in fields if one.default is msgspec.NODEFAULT]
    places = required[:1] if issubclass(target, ServiceTarget) else required
    # An argument that had the function's name would hide it.
    said = {one.name: "name" if one.name == name else one.name for one in fields}
    arguments = [f"{said[one.name]}: {_given(one)}" for one in places] + ["*"]
    arguments += [
        f"{said[one.name]}: {_given(one)}" + ("" if one in required else " | None = None")
        for one in fields
        if one not in places
    ]
    signature = "".join(f"    {argument},\n" for argument in arguments)
    passed = "".join(f"        {one.name}={said[one.name]},\n" for one in fields)
    return (
        f"def {name}(\n{signature}) -> {target.__name__}:\n{_docstring(target, said)}"
        f'    return made(\n        {target.__name__},\n        type="{_tag(target)}",\n{passed}    )\n'
    )


def _docstring(target: type[StoredTarget], said: dict[str, str]) -> str:
    more = [f"`{said[one.name]}`: {told}." for one in fields_of(target) if (told := _told(one))]
    if not more:
        return f'    """{target.__doc__}"""\n'
    lines = textwrap.wrap(" ".join(more), WIDTH, initial_indent="    ", subsequent_indent="    ")
    return f'    """{target.__doc__}\n\n' + "\n".join(lines) + '\n    """\n'


def _told(field: AskedField) -> str:
    default = "" if field.default is msgspec.NODEFAULT or field.may_be_left_out else f"{field.default} unless given"
    return "; ".join(filter(None, [(field.asked.description or "").rstrip("."), default]))


def _read(field: AskedField) -> str:
    if _choices(field):
        return "str"
    # The client reads a list of an answer as a tuple, which nobody can change.
    return "tuple[str, ...]" if field.kind == list[str] else _PLAIN[field.kind]


def _given(field: AskedField) -> str:
    if choices := _choices(field):
        return f"Literal[{', '.join(f'{chr(34)}{choice}{chr(34)}' for choice in choices)}]"
    return "Duration" if field.name.endswith("_seconds") else _PLAIN[field.kind]


def _choices(field: AskedField) -> tuple[str, ...]:
    return field.asked.values or (get_args(field.kind) if get_origin(field.kind) is Literal else ())


def table() -> str:
    """The types of targets with their fields, and the list of the client that has to have them, for the API's page."""
    rows = [f"| `{_tag(one)}` | {one.__doc__} | {_fields(one, required=True)} | {_fields(one)} |" for one in TARGETS]
    return "\n".join(["| type | target | fields | may also have |", "|---|---|---|---|", *rows])


def _fields(target: type[StoredTarget], *, required: bool = False) -> str:
    sent = {one.name: one.encode_name for one in msgspec.structs.fields(target)}
    fields = [one for one in fields_of(target) if (one.default is msgspec.NODEFAULT) is required]
    return ", ".join(f"`{sent[one.name]}`" for one in fields)


def page() -> str:
    """The API's page with the table of targets as it is now."""
    text = PAGE.read_text(encoding="utf-8")
    return re.sub(r"\| type \| target \|.*?(?=\n\n)", lambda _: table(), text, flags=re.DOTALL)


def schema() -> str:
    """The schema of deployment.json with the services of `targetArns` as they are now."""
    *others, last = (f"{one.service.name} {one.service.things}" for one in LISTED)
    words = f"{', '.join(others)} and {last}"
    text = SCHEMA.read_text(encoding="utf-8")
    text = re.sub(r"(ARNs or patterns of the )[^\"]*?( that jobs may target, and of the)", rf"\g<1>{words}\g<2>", text)
    return re.sub(r"(\"\^arn:\[a-z\*-\]\+:)\([a-z|]+\)(:\")", rf"\g<1>({'|'.join(LISTED_ARNS)})\g<2>", text)


def shapes() -> str:
    """The schemas of a workflow and of all that it has, without descriptions."""
    schemas, found, waiting = describe()["components"]["schemas"], dict[str, Any](), ["WorkflowTargetBody"]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = _bare(schemas[name])
            waiting += re.findall(r'"#/components/schemas/(\w+)"', json.dumps(found[name]))
    return json.dumps(found, indent=1) + "\n"


def _bare(schema: Any) -> Any:
    """A schema without its titles and descriptions; a property may have such a name."""
    if isinstance(schema, list):
        return [_bare(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: {inner: _bare(one) for inner, one in part.items()} if name == "properties" else _bare(part)
        for name, part in schema.items()
        if name not in ("title", "description")
    }


def example(text: str, defaults: Mapping[str, Any]) -> str:
    """The example of a deployment with all options: a lacking one is put into the last environment, as by default."""
    document = json.loads(text)
    told = {name for one in (document["common"], *document["environments"].values()) for name in one}
    last = f"    {json.dumps(list(document['environments'])[-1])}: {{\n"
    lacking = (
        f"      {json.dumps(name)}: {json.dumps(given)},\n" for name, given in defaults.items() if name not in told
    )
    return text.replace(last, last + "".join(lacking))


def _tag(target: type[StoredTarget]) -> str:
    return str(target.__struct_config__.tag)


def files() -> dict[Path, str]:
    """The files with their contents as they have to be."""
    defaults = {name: one["default"] for name, one in OPTIONS.items() if "default" in one}
    whole = example(EXAMPLE.read_text(encoding="utf-8"), defaults)
    return {CLIENT: client_module(), **offered(), PAGE: page(), SCHEMA: schema(), EXAMPLE: whole, SHAPES: shapes()}


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text, encoding="utf-8")
