"""Rows of questions, passages and answers from which the pocket reader's curve is fitted."""
