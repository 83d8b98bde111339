"""Where the aliases of a store are kept: a file with a checksum, and the one that was there before."""

import errno
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import structlog

from chassis.errors import DependencyUnavailable
from chassis.vectors.checked import Damaged, read_checked, write_checked
from chassis.vectors.names import is_collection_name
from contracts.collections import PREVIOUS

log = structlog.get_logger()


class AliasFile:
    """Alias -> version. `fault` says why the file before is used, empty where it is not.

    `damaged`: the file itself is broken, and not only unreadable now.
    """

    def __init__(self, folder: Path) -> None:
        self._now, self._before = folder / "aliases.json", folder / "aliases.before.json"
        self.fault, self.damaged, self._unreadable = "", False, False
        self.aliases = self._read()

    def write(self, aliases: Mapping[str, str]) -> None:
        """Durable when the call returns. What was known until now is kept first."""
        if self._unreadable:
            raise DependencyUnavailable(
                "The aliases could not be read at the start and are not replaced: restart the service."
            )
        write_checked(self._before, self.aliases)
        write_checked(self._now, dict(aliases))
        self.aliases, self.fault, self.damaged = dict(aliases), "", False

    def _read(self) -> dict[str, str]:
        try:
            # Before there were checksums there was no file before either.
            return _parsed(self._now, without_checksum=not self._before.exists())
        except FileNotFoundError:
            if not self._before.exists():
                return {}
            self.fault = f"{self._now.name} is missing"
        except Damaged as error:
            self.fault, self.damaged = str(error), True
        except OSError as error:
            self.fault = f"{self._now.name} cannot be read ({error.strerror})"
            self.damaged = error.errno == errno.EIO
            self._unreadable = not self.damaged
        try:
            return _parsed(self._before)
        except (OSError, Damaged):
            self.fault += ", and so is the one before it"
            return {}


def resolve(
    stored: Mapping[str, str], exists: Callable[[str], bool]
) -> tuple[dict[str, str], dict[str, str]]:
    """Alias -> its version or, where that is gone, the one before; and what fell back ("": to none)."""
    resolved: dict[str, str] = {}
    fallbacks: dict[str, str] = {}
    for alias, target in stored.items():
        before = stored.get(alias + PREVIOUS, "")
        found = next((each for each in (target, before) if each and exists(each)), None)
        if found is not None:
            resolved[alias] = found
        if found != target:
            fallbacks[alias] = found or ""
            log.error("alias_fell_back", alias=alias, stored=target, resolved=found)
    return resolved, fallbacks


def fallback_notes(fallbacks: Mapping[str, str]) -> list[str]:
    """A sentence for each alias that readers ask for."""
    return [_note(alias, version) for alias, version in fallbacks.items() if not alias.endswith(PREVIOUS)]


def _note(alias: str, version: str) -> str:
    what = (
        f"see the version before it, {version!r}: index again what was indexed since"
        if version
        else "see nothing: index again, or restore a backup"
    )
    return f"What {alias!r} points at is broken or gone, and its readers {what}."


def _parsed(path: Path, *, without_checksum: bool = False) -> dict[str, str]:
    stored: Any = read_checked(path, without_checksum=without_checksum)
    if not isinstance(stored, dict) or not all(
        isinstance(target, str) and is_collection_name(alias) and is_collection_name(target)
        for alias, target in stored.items()
    ):
        raise Damaged(f"{path.name} holds no aliases")
    return stored
