"""Evaluation: the CRAG-MM protocol over HTTP, and a synthetic world to run it on without a download."""
