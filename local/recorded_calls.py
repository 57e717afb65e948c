"""Records for tests the calls of the deployed Lambdas to AWS, in the emulator's process: each different call once."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any


def record_calls(file: Path) -> None:
    """To be called before the emulator serves. Appends a line of JSON to `file` for each new call of a role.

    A line has `role` (its name), `action` and `resource` as the emulator knows them, and whether it was `refused`.
    """
    from ministack.core import iam_evaluator

    enforce, seen, writing = iam_evaluator.enforce, set[str](), threading.Lock()

    def enforce_and_record(
        access_key_id: str,
        iam_action: str,
        service: str,
        region: str,
        resource_arn: str = "*",
        service_context: dict[str, Any] | None = None,
    ) -> Any:
        refused = enforce(access_key_id, iam_action, service, region, resource_arn, service_context)
        caller = (iam_evaluator.resolve_caller_identity(access_key_id) or {}).get("userArn", "")
        if ":assumed-role/" in caller:
            call = {"role": caller.split("/")[1], "action": iam_action, "resource": resource_arn}
            line = json.dumps({**call, "refused": refused is not None})
            with writing:
                if line not in seen:
                    seen.add(line)
                    with file.open("a", encoding="utf-8") as opened:
                        opened.write(f"{line}\n")
        return refused

    iam_evaluator.enforce = enforce_and_record
