"""CRAG-MM's scores by both published protocols, QA-Dragon's overlap, and confidence intervals."""
