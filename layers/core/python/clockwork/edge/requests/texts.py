"""Texts that several bodies of rare operations hold."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from clockwork.edge.http.models import bounded
from clockwork.edge.requests.jobs import CLIENT_ID_TEXT, is_job_key

ClientId = Annotated[str, bounded(CLIENT_ID_TEXT)]
JobKey = Annotated[str, AfterValidator(is_job_key)]
InstantText = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
