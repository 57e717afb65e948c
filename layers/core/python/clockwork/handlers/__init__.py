"""Handlers of the Lambdas, one file each: parse the event, call the flow, write the metrics, answer."""

import os

from clockwork import cold_start

if "AWS_LAMBDA_FUNCTION_NAME" in os.environ:
    cold_start.begin()
