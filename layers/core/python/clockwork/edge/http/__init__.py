"""One HTTPS request and its answer: bodies, faults and pages."""
