"""The API's description (OpenAPI 3.1), made of the routes, the bodies of requests and answers, and `contract`.

`python -m clockwork.edge.description.openapi` writes it twice: into docs/ for readers, and into edge/, from where
GET /v1/openapi.json answers it. It runs when the project is built, never in a Lambda.
https://spec.openapis.org/oas/v3.1.1.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from inspect import cleandoc
from pathlib import Path
from typing import Any, get_args

import msgspec
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

from clockwork.domain.workflows.definition import MOST_NODES, NODE_NAME
from clockwork.edge.description.contract import OPERATIONS
from clockwork.edge.description.operation import Operation
from clockwork.edge.description.parameters import PARAMETERS
from clockwork.edge.http.forms import Form
from clockwork.edge.http.models import model_of
from clockwork.edge.http.problems import CONTENT_TYPE, Problem
from clockwork.edge.requests.jobs import JobBody
from clockwork.edge.requests.workflows import NodeBody
from clockwork.edge.responses.created import Created, Element
from clockwork.edge.responses.jobs import Job
from clockwork.routes import ROUTES, Route

SERVED = Path(__file__).parents[1] / "openapi.json"
DOCUMENTED = Path(__file__).parents[6] / "docs" / "openapi.json"
_SCHEMAS = "#/components/schemas/{model}"
_ABOUT = """\
A durable job scheduler: deliver this payload to that target at that time.

Requests are signed with AWS Signature Version 4 for the service `execute-api`. Instants are RFC 3339 with a zone and
milliseconds. Unknown fields and query
parameters are refused, and so is by name what this version does not support yet. Requests that API
Gateway refuses itself (unsigned, over 10 MB) get `{"message": ...}` rather than a problem document."""
_FAULTS = {
    400: "The body is not JSON: UTF-8, unique names, finite numbers, at most 64 levels. On /schedule: any fault.",
    403: "The caller may not do this, or not for this client, whether or not it exists.",
    404: "There is no such thing, or it is another client's.",
    409: "Another request, definition or revision stands in the way: the detail says which.",
    413: "The body is too large.",
    422: "The request has faults, all of them in `errors`; nothing was written.",
    429: "The client has made as many occurrences, or read as much, as it may for now; nothing was written. "
    "Retry-After says how long.",
    500: "Our fault.",
    503: "The answer is not certain: repeat the request, with an Idempotency-Key if it creates jobs.",
}
#: Operations for all callers that read nothing of a client but its row, which environments keep.
_UNPACED = {"who_am_i", "get_client", "get_health", "get_openapi"}


class _Schemas(GenerateJsonSchema):
    """Schemas as pydantic makes them, without titles of fields, and without null for a field that may be left out."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - the base names it so
        return False

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


def describe() -> dict[str, Any]:
    """The description as one OpenAPI document."""
    paths: dict[str, dict[str, Any]] = {}
    for route in ROUTES:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, OPERATIONS[route.operation])
    return {
        "openapi": "3.1.1",
        "info": {"title": "Clockwork", "version": "1", "description": _ABOUT},
        "servers": [
            {
                "url": "https://{api}.execute-api.{region}.amazonaws.com",
                "variables": {"api": {"default": "id"}, "region": {"default": "us-east-1"}},
            }
        ],
        "security": [{"sigv4": []}],
        "paths": paths,
        "components": {"schemas": _schemas(), "responses": _problems(), "securitySchemes": {"sigv4": _SIGV4}},
    }


_SIGV4 = {
    "type": "apiKey",
    "name": "Authorization",
    "in": "header",
    "x-amazon-apigateway-authtype": "awsSigv4",
    "description": "AWS Signature Version 4, service execute-api.",
}


def _operation(route: Route, operation: Operation) -> dict[str, Any]:
    in_path = re.findall(r"\{(\w+)\}", route.path)
    described: dict[str, Any] = {"operationId": _camel(route.operation), "summary": operation.summary}
    if route.admin:
        described["description"] = "For admin principals alone."
    if route.unsigned:
        described["security"] = []
    parameters = [
        {"name": name, "required": name in in_path, **PARAMETERS[name]} for name in (*in_path, *operation.parameters)
    ]
    if parameters:
        described["parameters"] = parameters
    if operation.body is not None:
        described["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": _ref(operation.body), "examples": _examples(operation)}},
        }
    schema = {"type": "object"} if operation.answer is None else _ref(operation.answer)
    answered = (
        {"text/plain": {"schema": {"type": "string"}}} if route.original else {"application/json": {"schema": schema}}
    )
    described["responses"] = {
        **{
            str(status): {"description": "Done.", "content": answered} for status in (operation.status, *operation.also)
        },
        **{str(status): {"$ref": f"#/components/responses/{status}"} for status in _faults(route, operation)},
    }
    return described


def _faults(route: Route, operation: Operation) -> list[int]:
    """The statuses of the problems that an operation may answer, by its path, its body and its parameters."""
    # Every operation refuses parameters that it does not know.
    faults = {403, 500, 503, 400 if route.original else 422}
    if operation.body is not None:
        faults |= {400} if route.original else {400, 413}
    if "{" in route.path or _names_client(operation):
        faults.add(404)
    if operation.conflicts or {"Idempotency-Key", "If-Match"} & set(operation.parameters):
        faults.add(409)
    if operation.capped or not (route.admin or route.worker or route.operation in _UNPACED):
        faults.add(429)
    if route.unsigned:
        faults -= {403}
    return sorted(faults)


def _names_client(operation: Operation) -> bool:
    """Whether a request may name a client that does not exist outside its path."""
    return "clientIdOf" in operation.parameters or "client_id" in _fields(operation.body)


def _fields(body: type[BaseModel | Form] | None) -> Collection[str]:
    if body is None:
        return ()
    return body.__struct_fields__ if issubclass(body, Form) else body.model_fields


def _problems() -> dict[str, Any]:
    schema = _ref(Problem)
    responses: dict[str, Any] = {
        str(status): {"description": text, "content": {CONTENT_TYPE: {"schema": schema}}}
        for status, text in _FAULTS.items()
    }
    seconds = {"type": "integer", "minimum": 1}
    responses["429"]["headers"] = {"Retry-After": {"description": "Seconds.", "required": True, "schema": seconds}}
    return responses


def _schemas() -> dict[str, Any]:
    schemas = _requests() | _answers()
    # The edge validates the jobs of a batch one by one, so the model of the batch does not name their type.
    schemas["CreateBatchBody"]["properties"]["jobs"]["items"] = _ref(JobBody)
    # So it does with the nodes of a workflow.
    schemas["WorkflowTargetBody"]["properties"]["nodes"] |= {
        "additionalProperties": _ref(NodeBody),
        "propertyNames": {"pattern": f"^{NODE_NAME.pattern}$"},
        "minProperties": 1,
        "maxProperties": MOST_NODES,
    }
    # msgspec describes a union of objects only if they have tags. These have none.
    schemas["CreatedBatch"]["properties"]["results"]["items"] = _any_of(get_args(Element))
    for choice in (Created, Job):
        schemas[choice.__name__] = {"title": choice.__name__, "description": choice.__doc__, **_any_of(choice.either)}
    return dict(sorted(schemas.items()))


def _requests() -> dict[str, Any]:
    bodies = [JobBody, NodeBody, *(operation.body for operation in OPERATIONS.values() if operation.body is not None)]
    models = [model_of(body) if issubclass(body, Form) else body for body in bodies]
    unique = [(model, "validation") for model in dict.fromkeys(models)]
    _, generated = models_json_schema(unique, ref_template=_SCHEMAS, schema_generator=_Schemas)  # type: ignore[arg-type]
    schemas: dict[str, Any] = generated["$defs"]
    return schemas


def _answers() -> dict[str, Any]:
    answers = [operation.answer for operation in OPERATIONS.values() if operation.answer is not None]
    shapes = [Problem, *get_args(Element), *(shape for one in answers for shape in getattr(one, "either", (one,)))]
    _, schemas = msgspec.json.schema_components(shapes, ref_template=_SCHEMAS.replace("model", "name"))
    return json.loads(json.dumps(schemas), object_hook=_as_pydantic)  # type: ignore[no-any-return]


def _as_pydantic(schema: dict[str, Any]) -> dict[str, Any]:
    """An object of a schema by msgspec, as pydantic would write it: without null for a field that may be left out."""
    schema.pop("default", None)
    options = [option for option in schema.pop("anyOf", ()) if option != {"type": "null"}]
    if options:
        # Shapes that a field tells apart exclude each other; plain choices need not.
        choice = "oneOf" if "discriminator" in schema else "anyOf"
        schema |= options[0] if len(options) == 1 else {choice: options}
    if isinstance(schema.get("description"), str):
        schema["description"] = cleandoc(schema["description"])
    if (values := schema.get("enum")) and "type" not in schema:
        schema["type"] = "integer" if isinstance(values[0], int) else "string"
        if len(values) == 1:
            [schema["const"]] = schema.pop("enum")
    return schema


def _examples(operation: Operation) -> dict[str, Any]:
    return {f"example{number}": {"value": value} for number, value in enumerate(operation.examples, 1)}


def _ref(model: type) -> dict[str, str]:
    return {"$ref": _SCHEMAS.format(model=model.__name__)}


def _any_of(shapes: tuple[type, ...]) -> dict[str, Any]:
    return {"anyOf": [_ref(shape) for shape in shapes]}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def main() -> None:
    """Write the description into both files."""
    document = describe()
    DOCUMENTED.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    SERVED.write_text(json.dumps(document, separators=(",", ":"), ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
