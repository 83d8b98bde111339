"""Runs: ask one system one dataset, store the answers, and resume after an interruption."""
