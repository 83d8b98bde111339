"""Vector stores: a port, an adapter for Qdrant Edge on disk, and one for a Qdrant server."""
