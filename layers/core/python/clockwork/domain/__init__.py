"""The domain: values and decisions as pure code. It asks no clock, draws no ids or random numbers, and does no I/O."""
