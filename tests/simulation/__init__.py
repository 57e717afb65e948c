"""Deterministic simulation: the shipped flows on the shipped memory adapters, against an adversary, under one seed."""
