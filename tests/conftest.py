"""Fixtures for every suite. Fixtures that start a process stand in a module of their own."""

pytest_plugins = ["tests.support.collecting_garbage", "tests.support.emulator", "tests.support.sampling"]
