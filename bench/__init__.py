"""`make bench`: measure the platform's cost and load limits; see docs/benchmarks."""
