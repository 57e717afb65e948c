"""The API's log line of a request, if the option asks for it. The file needs no CDK, so that benches can use it."""

from __future__ import annotations

#: Field -> variable of API Gateway: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging.html
LOGGED = {
    "requestId": "$context.requestId",
    "method": "$context.httpMethod",
    "path": "$context.path",
    "caller": "$context.identity.userArn",
    "status": "$context.status",
    "latencyMs": "$context.responseLatency",
    "integrationError": "$context.integrationErrorMessage",
}
