"""What is built into container images, and the command that builds them: `python -m deploy.images`."""
