"""Adapters that implement the ports in plain Python, for your own tests and for the simulator.

They pass the same contract suites as the AWS adapters.
"""
