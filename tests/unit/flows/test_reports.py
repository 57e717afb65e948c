"""Reports: a call that did nothing counts nothing. A shard without a lease would otherwise ring for rows of its own."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

import msgspec
import pytest

from clockwork import flows


def _reports() -> Iterator[type[msgspec.Struct]]:
    for module in pkgutil.walk_packages(flows.__path__, f"{flows.__name__}."):
        for name, found in vars(importlib.import_module(module.name)).items():
            if name.endswith("Report") and isinstance(found, type) and found.__module__ == module.name:
                yield found


REPORTS = list(_reports())


def test_the_reports_of_all_flows_are_found() -> None:
    assert {"PollReport", "DeliverReport", "IngestReport", "AuditReport"} <= {report.__name__ for report in REPORTS}


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.__name__)
def test_a_report_counts_from_nothing(report: type[msgspec.Struct]) -> None:
    given = {field.name: field.default for field in msgspec.structs.fields(report)}
    counts = {name: default for name, default in given.items() if isinstance(default, int)}
    assert set(counts.values()) <= {0}, counts
