"""Pools: fleets of workers that pull their work, and the settings of each by deployment and admin."""
