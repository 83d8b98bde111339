"""Evaluation: the CRAG-MM protocol over HTTP."""
