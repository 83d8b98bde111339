"""The node, the harness of the benchmarks, and the load test."""
