"""One command a file; each loads what it needs when it runs."""
