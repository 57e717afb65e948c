"""One file per Lambda: parse the event, call the flow, answer, count."""
