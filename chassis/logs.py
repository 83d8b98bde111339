"""Structured logs: one JSON line a request, never question text, image bytes or keys."""

import logging
import sys

import structlog


def configure_logging(level: str) -> None:
    """Set up logging for the whole process. Call once, at the edge."""
    numeric = logging.getLevelNamesMapping()[level.upper()]
    logging.basicConfig(level=max(numeric, logging.WARNING), stream=sys.stderr, format="%(message)s")
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
