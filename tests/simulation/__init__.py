"""Deterministic simulation: one seed runs the shipped flows on the shipped memory adapters, against an adversary."""
