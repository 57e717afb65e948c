"""Scenes of the demonstration beside its tour: a pool, a webhook that works on, a workflow."""
