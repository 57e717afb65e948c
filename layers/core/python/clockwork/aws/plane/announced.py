"""Announces a data plane's calls as botocore announces its own: by the events of a client of botocore.

Listeners of a session, such as meters, stand-ins of AWS and tests, therefore see every call and may answer it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HeadersDict
from botocore.compat import HTTPHeaders
from botocore.exceptions import ClientError, ParamValidationError
from botocore.hooks import first_non_none_response
from botocore.model import OperationModel
from botocore.validate import ParamValidator

from clockwork.aws.plane.plane import Outcome
from clockwork.aws.plane.signing import Signed
from clockwork.aws.plane.wire.plain import Answer


class _Told(NamedTuple):
    model: OperationModel
    context: dict[str, Any]


class Announced:
    """`Watcher` that emits a client's events. `validate`: check the parameters of each call by botocore's model."""

    def __init__(self, client: Any, *, validate: bool) -> None:
        self._client, self._validate = client, validate
        self._service = client.meta.service_model.service_id.hyphenize()

    def asked(self, operation: str, asked: dict[str, Any]) -> tuple[Any, dict[str, Any] | None]:
        told = _Told(self._client.meta.service_model.operation_model(operation), {})
        self._emit("provide-client-params", told, params=asked)
        self._emit("before-parameter-build", told, params=asked)
        if self._validate and told.model.input_shape is not None:
            report = ParamValidator().validate(asked, told.model.input_shape)
            if report.has_errors():
                raise ParamValidationError(report=report.generate_report())
        request = {"url_path": "/", "method": "POST", "headers": {}, "body": b"", "context": told.context}
        early = first_non_none_response(self._emit("before-call", told, params=request, request_signer=None))
        return told, None if early is None else early[1]

    def sending(self, told: _Told, authority: str, signed: Signed, body: bytes) -> Answer | None:
        of_request: Any = HeadersDict()
        for name, value in signed.headers:
            of_request[name] = value
        of_request["content-length"] = str(len(body))
        url = f"{self._client.meta.endpoint_url.partition('//')[0]}//{authority}/"
        request = AWSPreparedRequest("POST", url, of_request, body, stream_output=False)
        response = first_non_none_response(self._emit("before-send", told, request=request))
        if response is None:
            return None
        return Answer(response.status_code, {n.lower(): v for n, v in response.headers.items()}, response.content)

    def answered(self, told: _Told, answer: Answer, outcome: Outcome | None) -> None:
        response = AWSResponse("", answer.status, HTTPHeaders(), None)
        parsed = outcome.response if isinstance(outcome, ClientError) else outcome
        if not isinstance(parsed, Exception):
            self._emit("after-call", told, http_response=response, parsed=parsed)

    def _emit(self, event: str, told: _Told, **more: Any) -> Any:
        name = f"{event}.{self._service}.{told.model.name}"
        return self._client.meta.events.emit(name, model=told.model, context=told.context, **more)
