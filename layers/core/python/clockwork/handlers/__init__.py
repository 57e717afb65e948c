"""Handlers of the Lambdas, one file each: parse the event, call the flow, write the metrics, answer."""
