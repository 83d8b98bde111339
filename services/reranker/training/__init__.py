"""Labelled triples for calibration, all written for this project."""
