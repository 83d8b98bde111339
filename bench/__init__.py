"""`make bench`: what the platform costs and what it withstands, measured; see docs/benchmarks."""
