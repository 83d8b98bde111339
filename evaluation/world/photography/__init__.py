"""Photographs of things: surfaces, clutter, camera, light, defects and files."""
