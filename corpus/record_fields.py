"""Check the fields of a record and the file that it names."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpus.attributes import plain_text
from corpus.jsonl import Rejected
from corpus.values import web_url


class Unusable(Exception):
    """A record cannot be indexed; the message is for the user."""


def check_file(path: Path, largest: int, what: str) -> None:
    try:
        size = path.stat().st_size
        is_file = path.is_file()
    except (OSError, ValueError):
        raise Unusable(f"The {what} is not there.") from None
    if not is_file:
        raise Unusable(f"The {what} is not a file.")
    if size == 0:
        raise Unusable(f"The {what} is empty.")
    if size > largest:
        raise Unusable(f"The {what} is larger than {largest // 2**20} MiB.")


def record_fields(record: Mapping[str, Any] | Rejected) -> Mapping[str, Any]:
    if isinstance(record, Rejected):
        raise Unusable(record.reason)
    return record


def text_field(fields: Mapping[str, Any], key: str, *, required: bool = False) -> str:
    value = fields.get(key)
    if value is None and not required:
        return ""
    if not isinstance(value, str):
        raise Unusable(f'"{key}" is missing.' if value is None else f'"{key}" is not a text.')
    cleaned = re.sub(r"\s+", " ", plain_text(value)).strip()
    if required and not cleaned:
        raise Unusable(f'"{key}" is empty.')
    if len(cleaned) > 1024:
        raise Unusable(f'"{key}" is longer than 1024 characters.')
    return cleaned


def url_field(fields: Mapping[str, Any]) -> str:
    given = fields.get("url")
    if given is None or given == "":
        return ""
    url = web_url(given) if isinstance(given, str) else ""
    if not url:
        raise Unusable('"url" is not an absolute http, https or file URL.')
    return url
