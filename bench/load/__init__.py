"""`make load`: simulated users of two platforms, and whether the objectives were met."""
