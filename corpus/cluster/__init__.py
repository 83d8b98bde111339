"""Ingestion on Ray Data: the same stages as actors, over a source that is cut into parts."""
