"""Metrics, alarms, the dashboard."""
