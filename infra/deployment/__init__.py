"""What a deployment is asked to be: `deployment.json`, single options given with `-c`, and the check of both."""
