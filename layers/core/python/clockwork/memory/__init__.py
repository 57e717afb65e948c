"""The ports in plain Python, for your own tests and the simulator; held to the contract suites of the AWS adapters."""
