"""Messages: which releases travel in one message, and in which turns ordered releases are sent."""
