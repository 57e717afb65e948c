"""The judgement of the systems: their jobs, the runs of these at the receiver, and the report. Pure functions."""
