"""Somebody asks: create, cancel, read, redrive anonymous jobs and executions."""
