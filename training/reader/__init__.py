"""Fit the small reader of the `lite` profile: rows, model, training, export, evaluation."""
