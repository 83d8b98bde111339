"""Training a coarse head for question-conditioned queries."""
