"""Small JSON files with a checksum: what is read is what was written, or it is said that it is not."""

import json
import zlib
from pathlib import Path
from typing import Any

from chassis.vectors.files import replace_text

_SUM, _CONTENT = "crc32", "content"


class Damaged(Exception):
    """A file or a folder is not as it was written; the text says in what, without a path."""


def write_checked(path: Path, content: Any) -> None:
    """Durable when the call returns; a crash leaves the old file or the new one."""
    replace_text(path, json.dumps({_CONTENT: content, _SUM: _sum(content)}, indent=2, sort_keys=True))


def read_checked(path: Path, *, without_checksum: bool = False) -> Any:
    """What was written. Raises `Damaged`, `OSError`. `without_checksum`: JSON may have none."""
    try:
        stored = json.loads(path.read_bytes())
    except ValueError as error:
        raise Damaged(f"{path.name} cannot be read") from error
    if not isinstance(stored, dict) or stored.keys() != {_CONTENT, _SUM}:
        if without_checksum:
            return stored
        raise Damaged(f"{path.name} has no checksum")
    if stored[_SUM] != _sum(stored[_CONTENT]):
        raise Damaged(f"the checksum of {path.name} is wrong")
    return stored[_CONTENT]


def _sum(content: Any) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())
