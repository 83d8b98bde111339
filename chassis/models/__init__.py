"""Shared parts of services with models: weights, devices, batches, worker threads."""
