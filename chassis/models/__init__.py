"""What services with models share: weights, devices, batches, worker processes."""
