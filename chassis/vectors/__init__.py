"""Where vectors live: one small port, one adapter for Qdrant Edge on disk, one for a Qdrant server."""
