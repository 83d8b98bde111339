"""Engines that find known things in photos."""
