"""One HTTPS request: its body, its faults, its pages."""
