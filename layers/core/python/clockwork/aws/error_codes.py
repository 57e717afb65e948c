"""Error codes of AWS by whom they concern: the caller's pace, one item, or every item."""

from __future__ import annotations

#: Error codes of throttling by DynamoDB, SQS, Lambda and Secrets Manager: each refused the call before it did anything.
#: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
THROTTLES = frozenset(
    {
        "KmsThrottled",
        "LimitExceededException",
        "OverLimit",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
        "TransactionConflictException",
        "TransactionInProgressException",
    }
)
#: Error codes of DynamoDB and SQS about the written or sent content itself, such as an item of more than 400 KB.
OF_ITEM = frozenset(
    {
        "BatchRequestTooLong",
        "InvalidMessageContents",
        "InvalidParameterValue",
        "ItemCollectionSizeLimitExceededException",
        "ReceiptHandleIsInvalid",
        "SerializationException",
        "ValidationException",
    }
)
#: Error codes of an account, a role, a key or a resource that is not as it should be: each concerns every item.
OF_ALL = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "ExpiredToken",
        "ExpiredTokenException",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidSecurity",
        "InvalidSignatureException",
        "KMSAccessDeniedException",
        "KMSDisabledException",
        "KMSInvalidStateException",
        "KMSNotFoundException",
        "KmsAccessDenied",
        "KmsDisabled",
        "KmsInvalidKeyUsage",
        "KmsInvalidState",
        "KmsNotFound",
        "KmsOptInRequired",
        "MissingAuthenticationToken",
        "NonExistentQueue",
        "NotAuthorized",
        "OptInRequired",
        "QueueDoesNotExist",
        "RequestExpired",
        "ResourceNotFoundException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
