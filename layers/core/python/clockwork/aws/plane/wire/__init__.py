"""The wire of the data plane: kept connections to one endpoint, and the answers that come on them."""
