"""The cost of a job with everything that AWS bills for it, by the rate of jobs."""
