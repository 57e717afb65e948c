"""The API's description is true of many requests at the bounds of their fields. To collect them alone takes seconds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from schemathesis import Case

from tests.handlers.test_description import SCHEMA, assert_kept, bounded


@pytest.mark.nightly
@SCHEMA.parametrize()
@settings(bounded, max_examples=60)
def test_every_operation_keeps_the_description_for_many_requests(case: Case[Any]) -> None:
    assert_kept(case)
