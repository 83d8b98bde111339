"""Image matching without a neural network: local features, VLAD, geometric verification, calibration."""
