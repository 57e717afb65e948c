"""What is known of a target before it is called, and what a call of it carries."""
