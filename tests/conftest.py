"""Fixtures for every suite; what starts a process lives in a module of its own."""

pytest_plugins = ["tests.support.emulator"]
