"""Adapters of the tables, on DynamoDB."""
