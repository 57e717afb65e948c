"""Do the checks notice? Copies of the tree with one thing broken each, put before the checks."""
