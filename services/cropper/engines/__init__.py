"""Engines that propose regions."""
