"""Tiny models of the real architectures, and the whole loop on them: `make train-tiny`."""
