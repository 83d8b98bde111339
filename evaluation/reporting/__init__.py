"""Runs side by side: a page for people, figures, and every number as JSON."""
