"""Ingestion on Ray Data: tasks read and prepare parts of a source, actors embed and write."""
