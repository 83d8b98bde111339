"""Hostile inputs of every class, sent over loopback to a platform of its own: `python -m tests.attacks`."""
