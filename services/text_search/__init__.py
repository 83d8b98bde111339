"""text_search: passages of pages that answer sub-queries."""
