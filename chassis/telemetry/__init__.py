"""What a service tells of itself: logs, metrics, spans."""
