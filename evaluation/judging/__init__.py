"""Judges of answers (rules, models, people), and their stored and compared verdicts."""
