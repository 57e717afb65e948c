"""What the API logs about a request, if it logs any. The file needs no CDK, so that benches can use it."""

from __future__ import annotations

#: Field -> variable of API Gateway: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging.html
LOGGED = {
    "requestId": "$context.requestId",
    "route": "$context.routeKey",
    "path": "$context.path",
    "caller": "$context.identity.userArn",
    "status": "$context.status",
    "latencyMs": "$context.responseLatency",
    "integrationError": "$context.integrationErrorMessage",
}
