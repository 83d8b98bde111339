"""Change the gateway's keys file: add a key, revoke one. The gateway reads the file again within a second."""

import re
import threading
import tomllib
from collections.abc import Sequence
from pathlib import Path

from chassis.errors import CollectionConflict, DependencyUnavailable, InvalidRequest, NotFound
from chassis.keys import ApiKey
from chassis.startup import WrongSettings
from chassis.vectors.files import replace_bytes
from clients.keys import entry
from gateway.serving.tenants import KeyEntry, read_keys_file
from gateway.state import Priority

MOST_KEYS = 1_000
_BLOCK = re.compile(r"^(?=[ \t]*\[)", re.MULTILINE)
"""Where a table of the file begins."""


_CHANGING = threading.Lock()


class KeysFileEditor:
    """Edits one file; comments and tenants stay as they are. Calls block, and are safe from threads."""

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()

    def entries(self) -> Sequence[KeyEntry]:
        """Return the keys in the order of the file. Raises `DependencyUnavailable`."""
        try:
            return read_keys_file(self._path).key
        except WrongSettings as error:
            raise DependencyUnavailable(str(error)) from error

    def add(self, tenant: str, priority: Priority, *, operator: bool) -> ApiKey:
        """Return a new key, whose digest is in the file now. Raises `InvalidRequest`."""
        with _CHANGING:
            if len(self.entries()) >= MOST_KEYS:
                raise InvalidRequest(f"The keys file has {MOST_KEYS} keys already. Revoke some first.")
            key = ApiKey.new()
            text = self._text().rstrip("\n")
            self._write(f"{text}\n\n{entry(key, tenant, priority, operator=operator)}\n".lstrip("\n"))
        return key

    def revoke(self, prefix: str) -> None:
        """Remove a key. Raises `NotFound`, or `CollectionConflict` if the file has another layout."""
        with _CHANGING:
            if all(each.prefix != prefix for each in self.entries()):
                raise NotFound("There is no key with this prefix.")
            kept = [block for block in _BLOCK.split(self._text()) if not _is_key(block, prefix)]
            text = "".join(kept)
            before = [each for each in self.entries() if each.prefix != prefix]
            if tomllib.loads(text).get("key", []) != [_as_written(each) for each in before]:
                raise CollectionConflict("The keys file has an unusual layout. Remove the key by hand.")
            self._write(text)

    def _text(self) -> str:
        return self._path.read_text("utf-8")

    def _write(self, text: str) -> None:
        fresh = self._path.with_name(f".{self._path.name}.new")
        try:
            fresh.touch()
            fresh.chmod(self._path.stat().st_mode & 0o777)
            replace_bytes(self._path, text.encode(), fresh)
        except OSError as error:
            raise DependencyUnavailable(f"The keys file cannot be written ({error.strerror}).") from error


def _is_key(block: str, prefix: str) -> bool:
    try:
        keys = tomllib.loads(block).get("key", [])
    except tomllib.TOMLDecodeError:
        return False
    return isinstance(keys, list) and any(each.get("prefix") == prefix for each in keys)


def _as_written(key: KeyEntry) -> dict[str, object]:
    return {name: getattr(key, name) for name in KeyEntry.model_fields if name in key.model_fields_set}
