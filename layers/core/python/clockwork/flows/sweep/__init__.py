"""Something was left behind."""
