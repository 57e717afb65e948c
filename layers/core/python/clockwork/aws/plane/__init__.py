"""The data plane: the dozen calls that every job makes to DynamoDB and SQS, without botocore's machinery.

`Lean` signs and sends them itself, ten at a time by one thread; `OverBotocore` makes the same calls with botocore. Both
give the same answers and raise the same exceptions, which are botocore's. botocore makes all other calls, and finds
credentials.
"""
