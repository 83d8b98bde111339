"""Region proposals from edges, lines and strokes; no neural network."""
