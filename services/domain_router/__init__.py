"""domain_router: which CRAG-MM domain a question is in."""
