"""Results, into the documentation."""
