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
from gateway.serving.tenants import KeyEntry, KeysFile, read_keys_file
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
        return self._content().key

    def add(self, tenant: str, priority: Priority, *, operator: bool) -> ApiKey:
        """Return a new key, whose digest is in the file now. Raises as `revoke`, or `InvalidRequest`.

        Without a `tenant` it is a device's, which is one of its own.
        """
        key = ApiKey.new()
        added = entry(key, tenant or f"device-{key.prefix}", priority, operator=operator)
        with _CHANGING:
            before = self._content()
            if len(before.key) >= MOST_KEYS:
                raise InvalidRequest(f"The keys file has {MOST_KEYS} keys already. Revoke some first.")
            text = f"{self._text().rstrip()}\n\n{added}\n".lstrip()
            self._write(text, [*before.key, *KeysFile.model_validate(tomllib.loads(added)).key])
        return key

    def revoke(self, prefix: str) -> None:
        """Remove a key. Raises `NotFound`, or `CollectionConflict` if the file has another layout."""
        with _CHANGING:
            before = self.entries()
            others = [each for each in before if each.prefix != prefix]
            if len(others) == len(before):
                raise NotFound("There is no key with this prefix.")
            blocks = _BLOCK.split(self._text())
            self._write("".join(block for block in blocks if not _is_key(block, prefix)), others)

    def _content(self) -> KeysFile:
        try:
            return read_keys_file(self._path)
        except WrongSettings as error:
            raise DependencyUnavailable(str(error)) from error

    def _text(self) -> str:
        return self._path.read_text("utf-8")

    def _write(self, text: str, keys: Sequence[KeyEntry]) -> None:
        """Write the text if it differs from the file in nothing but the keys, and has these."""
        if _content_of(text) != self._content().model_copy(update={"key": list(keys)}):
            raise CollectionConflict("The keys file has an unusual layout. Change it by hand.")
        try:
            replace_bytes(self._path, text.encode(), mode=self._path.stat().st_mode & 0o777)
        except OSError as error:
            raise DependencyUnavailable(f"The keys file cannot be written ({error.strerror}).") from error


def _is_key(block: str, prefix: str) -> bool:
    try:
        keys = tomllib.loads(block).get("key", [])
    except tomllib.TOMLDecodeError:
        return False
    return isinstance(keys, list) and any(each.get("prefix") == prefix for each in keys)


def _content_of(text: str) -> KeysFile | None:
    try:
        return KeysFile.model_validate(tomllib.loads(text))
    except ValueError:  # TOML's and pydantic's errors are
        return None
