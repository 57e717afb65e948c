"""The wanted deployment: `deployment.json`, single options given with `-c`, and the check of both."""
