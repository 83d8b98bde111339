"""Where the aliases of a store are kept: a file with a checksum, and the one that was there before."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chassis.vectors.checked import Damaged, read_checked, write_checked
from chassis.vectors.names import is_collection_name


class AliasFile:
    """Alias -> version. `fault` says why the file before is used, empty where it is not."""

    def __init__(self, folder: Path) -> None:
        self._now, self._before = folder / "aliases.json", folder / "aliases.before.json"
        self.fault = ""
        self.aliases = self._read()

    def write(self, aliases: Mapping[str, str]) -> None:
        """Durable when the call returns. What was known until now is kept first."""
        write_checked(self._before, self.aliases)
        write_checked(self._now, dict(aliases))
        self.aliases, self.fault = dict(aliases), ""

    def _read(self) -> dict[str, str]:
        try:
            return _told(self._now)
        except FileNotFoundError:
            if not self._before.exists():
                return {}
            self.fault = f"{self._now.name} is missing"
        except Damaged as error:
            self.fault = str(error)
        try:
            return _told(self._before)
        except (FileNotFoundError, Damaged):
            self.fault += ", and so is the one before it"
            return {}


def _told(path: Path) -> dict[str, str]:
    told: Any = read_checked(path)
    if not isinstance(told, dict) or not all(
        isinstance(target, str) and is_collection_name(alias) and is_collection_name(target)
        for alias, target in told.items()
    ):
        raise Damaged(f"{path.name} holds no aliases")
    return told
