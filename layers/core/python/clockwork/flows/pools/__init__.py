"""The work of pools: the api claims for their workers, takes their heartbeats, and notes how their attempts end."""
