"""The API's description (OpenAPI), and the contract of each operation from which it is made."""
