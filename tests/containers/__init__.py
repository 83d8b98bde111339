"""`python -m tests.containers`: the images and docker-compose.yml, really run. See `__main__`."""
