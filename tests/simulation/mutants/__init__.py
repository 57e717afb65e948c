"""Do the checks notice? Copies of the shipped package with one thing broken each, put before the checks."""
