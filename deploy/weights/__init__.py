"""The weights of the production engines, and the command that fetches them: `python -m deploy.weights`."""
