"""reranker: how probable it is that a passage answers the question."""
