"""Do the checks notice? Copies of the shipped package with one thing broken each, run through simulator and unit tests."""
