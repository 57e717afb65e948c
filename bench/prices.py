"""What AWS asks for what `bench.units` counts: us-east-1, on demand, first tier, dollars per million.

DynamoDB as of 2026-09-23, SQS as of 2026-06, Lambda as of 2026-09-19, HTTP API as of 2026-11; the service's own page
wins wherever it differs.
"""

from __future__ import annotations

#: https://aws.amazon.com/dynamodb/pricing/on-demand/ - write and read request units of the Standard class.
WRITE_UNIT = 0.625
READ_UNIT = 0.125
#: https://aws.amazon.com/sqs/pricing/ - standard queues; each 64 KB chunk of a request counts as one.
SQS_REQUEST = 0.40
#: Same page, fair queues: on top, for requests that carry a message group.
SQS_FAIR_SURCHARGE = 0.10
#: https://aws.amazon.com/lambda/pricing/ - requests; duration depends on how busy the functions are.
LAMBDA_REQUEST = 0.20
#: https://aws.amazon.com/api-gateway/pricing/ - HTTP API, in front of every call of a client.
HTTP_API_REQUEST = 1.00
