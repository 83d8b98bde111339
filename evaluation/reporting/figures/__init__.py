"""Figures as SVG: small panels that stand beside each other on a desk and below each other on a phone."""
