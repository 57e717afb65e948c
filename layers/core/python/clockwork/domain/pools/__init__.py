"""Pools: fleets of workers that pull their work, and what a deployment and an admin say of each."""
