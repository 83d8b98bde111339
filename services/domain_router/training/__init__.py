"""Labelled questions, all written for this project."""
