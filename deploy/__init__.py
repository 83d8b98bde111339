"""Assemble and run the platform."""
