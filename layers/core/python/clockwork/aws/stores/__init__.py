"""The tables on DynamoDB."""
