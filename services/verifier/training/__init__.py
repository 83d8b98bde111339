"""Labelled answers for calibration, all written for this project."""
