"""A release comes due."""
