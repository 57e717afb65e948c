"""The lifecycle of an execution: claims, outcomes, retries, cancels, expiry, parking, redrives and callbacks."""
