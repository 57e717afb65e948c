"""What a job costs with everything that AWS bills for it, by the rate at which jobs come."""
