"""The benchmarks: they measure Clockwork's costs and performance."""
