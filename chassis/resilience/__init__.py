"""Deadlines, guards, gates, retries and breakers for calls."""
