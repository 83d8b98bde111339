"""Published advisories held against what is locked."""
