"""Decoders of hostile bytes, as processes that can be stopped."""
