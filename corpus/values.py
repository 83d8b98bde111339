"""Addresses and dates that documents and manifests state."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from corpus.attributes import plain_text

_SCHEMES = frozenset({"http", "https", "file"})


def web_url(text: str) -> str:
    """Return `text` if it is an absolute http, https or file URL of at most 2,048 characters; else ""."""
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return ""
    usable = parts.scheme in _SCHEMES and (parts.netloc or parts.path) and len(text) <= 2048
    return plain_text(text.strip()) if usable else ""


def moment(text: str) -> datetime | None:
    """Parse an ISO 8601 or HTTP date, in UTC if it names no zone. None if it is neither."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            parsed = parse(text.strip())
        except (ValueError, TypeError, IndexError):
            continue
        zone = parsed.utcoffset() or timedelta()
        if not zone % timedelta(minutes=1):  # JSON has no zones with seconds
            return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return None
