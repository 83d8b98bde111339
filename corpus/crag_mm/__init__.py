"""CRAG-MM's published indexes: read where the user has put them, never part of the product.

They are licensed CC BY-NC 4.0 and described in Wang et al., "CRAG-MM" (2025); nothing of them is committed.
"""
