"""The edge of the HTTPS API: from requests to flows and back. The only place that knows pydantic."""
