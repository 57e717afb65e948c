"""Examples of bodies, for the API's description."""

from __future__ import annotations

JOB = {
    "schedule": {"at": "2026-05-05T10:00:00.250Z"},
    "target": {"type": "http", "url": "https://example.com/hook", "headers": {"x-shop": "7"}},
    "payload": {"order": 17},
    "tags": {"team": "billing"},
}
CRON = {**JOB, "schedule": {"cron": "0 3 * * *", "timezone": "America/Los_Angeles"}}
MESSAGE = {
    "schedule": {"delaySeconds": 30},
    "target": {"type": "sqs", "queueArn": "arn:aws:sqs:us-east-1:123456789012:orders"},
    "payload": "order 17 is due",
    "record": "none",
}
ORIGINAL = {
    "clientId": "acme",
    "scheduleKey": "order1-create",
    "orderingKey": "order1",
    "taskData": "payload",
    "delivery": {"topic": "orderTopic"},
    "scheduleTime": 1_893_456_000_000,
}
TOKEN = "aczAwMS8xNzc3OTc1MjAwMjUwI2EvMA.1777975200250.0.1.secret-of-attempt-0001"  # noqa: S105 - an example
CLIENT = {
    "principals": ["arn:aws:iam::123456789012:role/Billing"],
    "signingSecrets": ["clockwork/acme"],
    "allowedQueueArns": ["arn:aws:sqs:us-east-1:123456789012:orders"],
}

CLAIMS = {
    "workerId": "host-1-abc",
    "handlers": ["generate_invoices"],
    "claims": [{"claimId": "claim-id-of-a-worker-1", "ticket": "{}", "receiptHandle": "AQEB"}],
}
POOL = {
    "principals": ["arn:aws:iam::123456789012:role/BatchWorkers"],
    "handlers": ["generate_invoices", "close_month"],
    "leaseSeconds": 90,
}
