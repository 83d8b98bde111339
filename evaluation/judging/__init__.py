"""Judges of answers: rules over a known truth, models, people; what they said is kept, and compared."""
