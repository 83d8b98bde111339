"""verifier: is the answer supported by the evidence."""
