"""Readers of file formats: each takes a file's bytes and returns the document as blocks."""
