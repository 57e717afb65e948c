"""The ports in plain Python: for your own tests and for the simulator; held to the same contract suites as the AWS adapters."""
