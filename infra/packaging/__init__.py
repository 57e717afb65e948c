"""Layers, and the bundles they are made of."""
