"""Gateways of others, each as its own documentation writes one, in the environments of `bench.peers`.

All ask the same three services for the same question as `bench.proxy`: OCR beside image search, then the
domain router with what was read. A question without a photo is about the last one that came.
Nothing here imports the platform.
"""
