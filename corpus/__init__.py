"""Ingestion: photos and pages, cleaned, cut, and written into versioned collections over HTTP."""
