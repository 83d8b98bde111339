"""Small JSON files of a store, replaced atomically: its aliases, and the finished parts of a version."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chassis.errors import DependencyUnavailable
from chassis.vectors.files import replace_text
from chassis.vectors.names import is_collection_name

_FINISHED = "finished.json"
_CONTENT = "content"
"""Earlier releases wrote the content under this key, beside a checksum."""


def read_aliases(path: Path) -> dict[str, str]:
    """Return alias -> version; nothing where none was written. Raises `DependencyUnavailable`."""
    try:
        stored = _read(path)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _unreadable(path) from error
    if not isinstance(stored, dict) or not all(
        isinstance(target, str) and is_collection_name(alias) and is_collection_name(target)
        for alias, target in stored.items()
    ):
        raise _unreadable(path)
    return stored


def write_aliases(path: Path, aliases: Mapping[str, str]) -> None:
    """Durable when the call returns; a crash leaves the old file or the new one."""
    replace_text(path, json.dumps(dict(aliases), indent=2, sort_keys=True))


def write_finished(version: Path, parts: Sequence[str]) -> None:
    """Write which parts of its input the version in this folder holds whole, in place of what was written."""
    replace_text(version / _FINISHED, json.dumps(list(parts)))


def read_finished(version: Path) -> tuple[str, ...]:
    """Return nothing if it was never written, or cannot be read: then every part is gone through again."""
    try:
        return tuple(map(str, _read(version / _FINISHED)))
    except (OSError, ValueError, TypeError):
        return ()


def _read(path: Path) -> Any:
    stored = json.loads(path.read_bytes())
    return stored[_CONTENT] if isinstance(stored, dict) and _CONTENT in stored else stored


def _unreadable(path: Path) -> DependencyUnavailable:
    return DependencyUnavailable(
        f"{path} cannot be read. Restore it from a backup, or delete it and index again with --replace."
    )
