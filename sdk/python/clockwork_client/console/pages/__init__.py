"""The pages: each file asks for what its page shows, and makes the model that its template draws."""
