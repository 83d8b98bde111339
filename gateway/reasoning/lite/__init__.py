"""Answers without a language model: which thing, what to search, and what the reader service finds."""
