"""The emulator's queries: a condition that is read once answers as one that is read for each item, and in no time."""

from __future__ import annotations

import json
import subprocess

import pytest

from infra import ROOT
from local.emulator import PYTHON
from local.query_corrections import condition_of

NAMES = {"#p": "clientId", "#k": "jobKey"}
#: Asks the emulator's own code for pages of a partition, without and with the correction, and times both.
PROGRAM = """
import asyncio, json, logging, time
from ministack.services import dynamodb
from local.query_corrections import read_conditions_once
logging.disable(logging.CRITICAL)

def call(operation, **data):
    headers = {"x-amz-target": "DynamoDB_20120810." + operation, "host": "x"}
    answer = asyncio.run(dynamodb.handle_request("POST", "/", headers, json.dumps(data).encode(), {}))
    return [answer[0], json.loads(answer[2])]

keys = ["clientId", "jobKey"]
call("CreateTable", TableName="jobs", BillingMode="PAY_PER_REQUEST",
     AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in keys],
     KeySchema=[{"AttributeName": one, "KeyType": kind} for one, kind in zip(keys, ("HASH", "RANGE"))])
words = ["", "a", "a b", "a/b", "B", "z~", "\\u00e9", "\\U0001f600", "\\uffff", "\\U0010ffff"]
for number in range(1_500):
    word = words[number % len(words)]
    call("PutItem", TableName="jobs",
         Item={"clientId": {"S": "acme"}, "jobKey": {"S": f"{word}{number:04}"}, "n": {"N": str(number)}})

def pages():
    found = []
    for clause, bounds in [("BETWEEN :a AND :b", (" ", "\\U0010ffff")), ("BETWEEN :a AND :b", ("a", "a/b9")),
                           ("< :a", ("\\u00e9",)), ("> :a", ("\\U0001f600",)), (">= :a", ("z~",)), ("= :a", ("B0014",)),
                           ("BETWEEN :a AND :b", ("b", "a")), ("< :a AND #k > :b", ("z", "a")), ("= :a", (7,))]:
        values = {":p": {"S": "acme"}}
        for name, bound in zip((":a", ":b"), bounds):
            values[name] = {"N": "7"} if bound == 7 else {"S": bound}
        request = dict(TableName="jobs", Limit=100, ConsistentRead=True, ExpressionAttributeValues=values,
                       KeyConditionExpression=f"#p = :p AND #k {clause}",
                       ExpressionAttributeNames={"#p": "clientId", "#k": "jobKey"})
        while True:
            found.append(call("Query", **request))
            if "LastEvaluatedKey" not in found[-1][1]:
                break
            request["ExclusiveStartKey"] = found[-1][1]["LastEvaluatedKey"]
    return found

def timed():
    began = time.process_time()
    return pages(), time.process_time() - began

before, slow = timed()
read_conditions_once()
after, fast = timed()
print(json.dumps([before == after, len(before), [one[0] for one in before].count(400), slow / fast]))
"""


@pytest.mark.parametrize(
    ("text", "key", "is_met"),
    [
        ("#p = :p AND #k BETWEEN :a AND :b", "b", True),
        ("#p = :p AND #k BETWEEN :a AND :b", "c", True),
        ("#p = :p AND #k BETWEEN :a AND :b", "c ", False),
        ("#p = :p AND #k < :b", "c", False),
        ("#p = :p AND #k <= :b", "c", True),
        ("#p = :p AND #k > :a", "a", False),
        ("#p = :p AND #k >= :a", "a", True),
        ("#p = :p", "", True),
        ("#p = :a", "", False),
    ],
)
def test_a_condition_on_texts_is_judged_without_its_text(text: str, key: str, is_met: bool) -> None:
    test = condition_of(text, {":p": {"S": "acme"}, ":a": {"S": "a"}, ":b": {"S": "c"}}, NAMES)
    assert test is not None
    assert test({"clientId": {"S": "acme"}, "jobKey": {"S": key}}) == is_met


@pytest.mark.parametrize(
    "text",
    [
        "#p = :n",
        "#q = :p",
        "#p = :q",
        "begins_with(#k, :p)",
        "#p = :p OR #k = :p",
        "#p = :p AND ",
        "(#p = :p)",
        "#p=:p",
    ],
)
def test_any_other_condition_is_left_to_the_emulator(text: str) -> None:
    assert condition_of(text, {":p": {"S": "acme"}, ":n": {"N": "7"}}, NAMES) is None


@pytest.mark.long
def test_the_emulator_answers_as_before_and_much_sooner() -> None:
    ran = subprocess.run([PYTHON, "-c", PROGRAM], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    is_same, pages, refused, ratio = json.loads(ran.stdout)
    assert (is_same, pages > 20, refused >= 2) == (True, True, True)
    assert ratio > 3
