"""Checks on rows of data sets, and on the photos that they name."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chassis.images import ImageLimits
from chassis.picture_cache import NotAPicture, picture_suffix

LONGEST_ID = 256
LONGEST_TEXT = 20_000
"""Characters of a question or an answer; CRAG-MM's longest have some hundreds."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_UNSENDABLE = re.compile(r"[\x00\ud800-\udfff]")


class BadRow(Exception):
    """Why a row cannot be asked. `kind` as in `Rejected`."""

    def __init__(self, kind: str, why: str) -> None:
        """`why`: a sentence."""
        super().__init__(why)
        self.kind = kind
        self.why = why


def identifier(row: Mapping[str, Any], key: str) -> str:
    """A non-empty id that can be printed. Raises `BadRow`."""
    value = row.get(key)
    if not isinstance(value, str) or not value:
        raise BadRow("malformed_row", f"{key} is missing, or is not a text.")
    if len(value) > LONGEST_ID or _CONTROL.search(value):
        raise BadRow("malformed_row", f"{key} is no id: too long, or with control characters.")
    return value


def text(row: Mapping[str, Any], key: str, *, if_empty: str) -> str:
    """A text as it is written; `if_empty` is the kind of the fault where it says nothing. Raises `BadRow`."""
    value = row.get(key)
    if value is not None and not isinstance(value, str):
        raise BadRow("malformed_row", f"{key} is not a text.")
    if value is None or not value.strip():
        raise BadRow(if_empty, f"{key} is missing or empty.")
    if len(value) > LONGEST_TEXT:
        raise BadRow("malformed_row", f"{key} is longer than {LONGEST_TEXT:,} characters.")
    if _UNSENDABLE.search(value):
        raise BadRow("malformed_row", f"{key} holds characters that cannot be sent.")
    return value


def photo_inside(folder: Path, name: str) -> Path:
    """The photo that a row names, relative to `folder`; also no link leads out. Raises `BadRow`."""
    try:
        path = folder / name
        real = path.resolve()
        if not real.is_relative_to(folder.resolve()):
            raise BadRow("malformed_row", "The photo's path leads out of the folder.")
        if not real.is_file():
            raise BadRow("missing_image", f"There is no photo {name[:100]!r}.")
        if real.stat().st_size > ImageLimits().max_bytes:
            raise BadRow(
                "unreadable_image", f"The image is larger than {ImageLimits().max_bytes // 2**20} MiB."
            )
        picture_suffix(real.read_bytes())
    except NotAPicture as reason:
        raise BadRow("unreadable_image", str(reason)) from reason
    except (OSError, ValueError, RuntimeError) as error:
        raise BadRow("missing_image", "The photo's path cannot be opened.") from error
    return path
