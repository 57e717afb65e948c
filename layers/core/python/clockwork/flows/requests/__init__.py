"""Requests of clients: create, cancel, read and redrive anonymous jobs and executions, by HTTPS or by message."""
