"""Activity: what the environments counted of each client, and what has run of it; how far one call reads for a list."""
