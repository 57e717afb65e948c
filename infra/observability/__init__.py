"""CloudWatch: metrics, alarms and the dashboard."""
