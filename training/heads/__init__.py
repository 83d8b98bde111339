"""Small heads beside frozen models: the domain router's, the coarse reranker's, and the search router."""
