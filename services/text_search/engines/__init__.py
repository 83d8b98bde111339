"""Engines of text_search."""
