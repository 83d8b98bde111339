"""Data sets for training, from evaluation runs of this platform."""
