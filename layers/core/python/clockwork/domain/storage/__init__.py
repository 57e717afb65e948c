"""How values lie in rows and messages."""
