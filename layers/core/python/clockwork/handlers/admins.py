"""The Lambda of the custom resource that names the admins: it writes their row and tells CloudFormation how that went.

How it fails. Without an answer CloudFormation waits for `ServiceTimeout`, and undoes the update by another one with the
admins of before. Lambda repeats no invocation, and starts none so late that it would write after that. A deletion
leaves the row: the tables outlive the stack, and a stack that adopts them writes a row of its own.
https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/crpg-ref-responses.html
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Mapping
from typing import Any
from urllib.request import Request, urlopen

from clockwork import bootstrap

log = logging.getLogger(__name__)

#: The resource's id stays the same, since CloudFormation deletes the resource of an id that is replaced.
RESOURCE_ID = "admins"
#: The most answers, the time for each (s), and the pause between them.
_ANSWERS, ANSWER_SECONDS, _PAUSE_SECONDS = 3, 10, 1
_MOST_CHARACTERS = 500  # an answer has at most 4 KB


def write_admins(event: Mapping[str, Any], _context: object) -> None:
    """Write the admins that the template names, in place of those of before. Raises OSError if nobody hears of it."""
    try:
        if event["RequestType"] != "Delete":
            clients = bootstrap.clients_in(os.environ["CLIENTS_TABLE"])
            clients.name_admins(event["ResourceProperties"]["AdminPrincipals"])
        status, reason = "SUCCESS", ""
    except Exception as error:
        log.exception("the admins are not written", extra={"action": "admins_not_written"})
        status, reason = "FAILED", f"the admins are not written: {type(error).__name__}: {error}"[:_MOST_CHARACTERS]
    for left in reversed(range(_ANSWERS)):
        try:
            _answer(event, status, reason)
            break
        except OSError:
            if not left:
                raise
            time.sleep(_PAUSE_SECONDS)


def _answer(event: Mapping[str, Any], status: str, reason: str) -> None:
    """Put the answer where CloudFormation waits for it. Its signed address allows no type of content."""
    asked = {name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")}
    answer = json.dumps({"Status": status, "Reason": reason, "PhysicalResourceId": RESOURCE_ID, **asked})
    request = Request(event["ResponseURL"], answer.encode(), {"content-type": ""}, method="PUT")  # noqa: S310
    with urlopen(request, timeout=ANSWER_SECONDS, context=bootstrap.trust()) as answered:  # noqa: S310
        answered.read()


lambda_handler = bootstrap.begun(lambda: write_admins)
