"""Questions and conversations about the world, with their truth."""
