"""Fetches the production engines' weights, once: the only part of the platform that talks to the internet."""
