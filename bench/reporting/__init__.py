"""Writes the benchmarks' results into the documentation."""
