"""Readable values of what documents and manifests state: plain text, attributes, addresses and dates."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from corpus.wikitext import strip_wikitext

LONGEST_VALUE = 20_000
"""Characters of one raw value that are looked at."""
MOST_ATTRIBUTES = 256

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_UNSEEN = re.compile(
    r"<(ref|script|style|gallery|math)\b[^<>]*(?:/>|>.*?(?:</\1\s*>|\Z))", re.DOTALL | re.IGNORECASE
)
_BREAK = re.compile(r"<\s*/?\s*(?:br|li|p|div|tr|hr)\b[^<>]*>", re.IGNORECASE)
_RAISED = re.compile(r"<sup>\s*([-−]?\d{1,3})\s*</sup>", re.IGNORECASE)
_SQUARE_CUBE = {"2": "²", "3": "³"}
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_EMPHASIS = re.compile(r"</?(?:strong|em|b|i|mark)>", re.IGNORECASE)
_BREAK_CHARS = re.compile(r"[\r\x0b\x0c\x1c-\x1f\x85\u200b\u2028\u2029]")
"""Line ends other than `\\n`, and the zero-width space: they separate words."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060\ufeff\ud800-\udfff]")
_GAPS = (
    (re.compile(r"\s+"), " "),
    (re.compile(r"\(\s*[,;]?\s*\)|\[\s*\]"), ""),
    (re.compile(r"\s+([,;.:!?)\]])"), r"\1"),
    (re.compile(r"([(\[])\s+"), r"\1"),
    (re.compile(r"([,;])(?:\s*[,;])+"), r"\1"),
    (re.compile(r"[\[\]{}]{2,}"), ""),
)
_CAMEL = re.compile(r"(?<=[a-z])([A-Z])(?=[a-z])")
_LINE_OF_INFOBOX = re.compile(r"^\s*\|?\s*([\w][\w ./'-]{0,60}?)\s*[=:]\s*(\S.*)$")


def plain_text(text: str) -> str:
    """Characters that can be stored, shown and sent: no controls, no marks of direction, no surrogates."""
    return _CONTROL.sub("", _BREAK_CHARS.sub(" ", text))


def clean_markup(text: str) -> str:
    """Wiki and HTML markup to plain text. Malformed or nested markup never fails; what is left is readable.

    `[[Ada Lovelace|Ada]]<br />{{convert|12|cm|in}}` gives `Ada, 12 cm`.
    """
    plain = html.unescape(html.unescape(text[:LONGEST_VALUE]))
    for unseen in (_COMMENT, _UNSEEN):
        plain = unseen.sub("", plain)
    plain = _RAISED.sub(lambda match: _SQUARE_CUBE.get(match[1], f"^{match[1]}"), plain)
    plain = _TAG.sub("", strip_wikitext(_BREAK.sub(", ", plain)))
    plain = plain_text(html.unescape(plain).replace("\n", ", ").replace("\t", " "))
    for gap, replacement in _GAPS:
        plain = gap.sub(replacement, plain)
    return plain.strip(" ,;|*")


def clean_snippet(text: str) -> str:
    """A search engine's extract of a page as plain text: its marks of emphasis and its entities decoded.

    `A &amp;lt; B <strong>road</strong>` gives `A < B road`: what was escaped is the page's own text.
    """
    plain = _TAG.sub("", _BREAK.sub(" ", text[:LONGEST_VALUE]))
    plain = _EMPHASIS.sub("", html.unescape(html.unescape(plain)))
    return re.sub(r"\s+", " ", plain_text(plain)).strip()


def clean_attributes(attributes: object) -> dict[str, str]:
    """Readable key -> readable value, in the given order; empty values are left out.

    Takes what image indexes hold: a mapping (values may be lists or mappings), JSON of one, the lines of
    an infobox (`| key = value`), or plain prose, which becomes `description`.
    """
    cleaned: dict[str, str] = {}
    for key, value in _pairs(attributes):
        name, text = _clean_key(key), clean_markup(value)
        if name and text and name not in cleaned and len(cleaned) < MOST_ATTRIBUTES:
            cleaned[name] = text
    return cleaned


def _pairs(attributes: object) -> Iterator[tuple[str, str]]:
    if isinstance(attributes, str):
        yield from _pairs_of_text(attributes)
    elif isinstance(attributes, Mapping):
        for key, value in attributes.items():
            yield str(key), _value_text(value)
    elif attributes is not None:
        yield "description", _value_text(attributes)


def _pairs_of_text(text: str) -> Iterator[tuple[str, str]]:
    if text.lstrip().startswith("{") and not text.lstrip().startswith("{{"):
        try:
            parsed = json.loads(text)
        except (ValueError, RecursionError):
            parsed = None
        if isinstance(parsed, dict):
            yield from _pairs(parsed)
            return
    lines = [line for line in text.splitlines() if line.strip()]
    matches = [_LINE_OF_INFOBOX.match(line) for line in lines]
    if lines and all(matches):
        yield from ((match[1], match[2]) for match in matches if match)
    else:
        yield "description", text


def _value_text(value: Any, depth: int = 0) -> str:
    if value is None or depth > 4:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        parts = [f"{key}: {_value_text(each, depth + 1)}" for key, each in value.items()]
        return "; ".join(parts)
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, (_value_text(each, depth + 1) for each in value)))
    return str(value)


def _clean_key(key: str) -> str:
    spaced = _CAMEL.sub(lambda match: " " + match[1].lower(), clean_markup(key.replace("_", " ")))
    return " ".join(spaced.split())[:80].strip(" :=")


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
