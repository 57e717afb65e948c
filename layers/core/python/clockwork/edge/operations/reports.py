"""The operations on attempts that end by callback: their receivers report, and send heartbeats."""

from __future__ import annotations

from http import HTTPStatus

from clockwork.domain import ids
from clockwork.domain.lifecycle.reports import Heartbeat
from clockwork.domain.requests.reading import Kind
from clockwork.edge.http.body import SINGLE_BYTES, read_body
from clockwork.edge.http.request import Request
from clockwork.edge.http.validation import Body, validate
from clockwork.edge.operations.base import Answer, Operations
from clockwork.edge.requests.reports import CancelledBody, CompleteBody, FailBody, HeartbeatBody, UnsignedBody
from clockwork.edge.responses.executions import AtWork, Completion, Execution
from clockwork.flows import access
from clockwork.flows.requests import reporting
from clockwork.flows.requests.unsigned import checked_token, report_unsigned


class ReportApi(Operations):
    """The operations on attempts that end by callback."""

    def complete_execution(self, request: Request) -> Answer:
        """POST /v1/executions/{executionId}/complete."""
        return self._report(request, CompleteBody)

    def fail_execution(self, request: Request) -> Answer:
        """POST /v1/executions/{executionId}/fail."""
        return self._report(request, FailBody)

    def confirm_cancel(self, request: Request) -> Answer:
        """POST /v1/executions/{executionId}/cancelled."""
        return self._report(request, CancelledBody)

    def beat_execution(self, request: Request) -> Answer:
        """POST /v1/executions/{executionId}/heartbeat."""
        caller = access.require_known(self.world, request.caller)
        self._changing_at(request, caller, ids.job_of(request.path["executionId"]))
        body = self._body(request, HeartbeatBody)
        said = Heartbeat(self.world.clock.now(), body.progress, body.message)
        record = reporting.beat(self.world, caller, request.path["executionId"], body.token, said)
        return HTTPStatus.OK, AtWork.of(record)

    def report_by_token(self, request: Request) -> Answer:
        """POST /v1/completions/{token}, unsigned. The token is checked before anything is read, whoever calls."""
        self._paced(Kind.ADDRESS, request.source)
        token = checked_token(self.world, request.path["token"])
        self._paced(Kind.REPORT, ids.decode_execution(token.execution_id).job_id)
        body = self._body(request, UnsignedBody)
        record = report_unsigned(self.world, token, body.to_said(now := self.world.clock.now()))
        return HTTPStatus.OK, Completion.of(record, now)

    def _report(self, request: Request, kind: type[CompleteBody | FailBody | CancelledBody]) -> Answer:
        caller = access.require_known(self.world, request.caller)
        self._changing_at(request, caller, ids.job_of(request.path["executionId"]))
        body = self._body(request, kind)
        record = reporting.report(self.world, caller, request.path["executionId"], body.token, body.to_reported())
        return HTTPStatus.OK, Execution.of(record)

    def _paced(self, kind: Kind, whose: str) -> None:
        self.intake.reading.admit(self.world, kind, [whose])

    def _body(self, request: Request, kind: type[Body]) -> Body:
        return validate(kind, read_body(request.event, SINGLE_BYTES), self._checks(request))
