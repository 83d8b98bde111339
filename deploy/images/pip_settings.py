"""This machine's pip settings for a build: where packages come from is up to who builds.

They travel as a secret, so that neither an address nor a password in it stays in a layer or in the history.
"""

import ast
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

_CARRIED = (
    "index-url",
    "extra-index-url",
    "find-links",
    "no-index",
    "trusted-host",
    "proxy",
    "timeout",
    "retries",
)
_LISTS = ("extra-index-url", "find-links", "trusted-host")
_CA_INSIDE = "/run/secrets/ca"


class CannotTell(Exception):
    """pip does not say how it is configured."""


@dataclass(frozen=True, slots=True)
class PipSettings:
    """`configuration`: a pip.conf; `certificates`: its CA bundle; `folders`: local ones that it names."""

    configuration: str
    certificates: Path | None
    folders: tuple[Path, ...]


def pip_settings() -> PipSettings:
    """What `pip config list` says, the environment winning over files. Raises `CannotTell`."""
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=False
    )
    if asked.returncode != 0:
        raise CannotTell(f"pip config list: {asked.stderr.strip()}")
    return parsed(asked.stdout)


def parsed(listing: str) -> PipSettings:
    """From lines such as `global.index-url='https://…'` and `:env:.cert='…'`."""
    values: dict[str, str] = {}
    for line in sorted(listing.splitlines(), key=_precedence):
        name, _, quoted = line.partition("=")
        values[name.rpartition(".")[2]] = str(ast.literal_eval(quoted))
    certificates = Path(values["cert"]) if values.get("cert") else None
    kept = {name: values[name] for name in _CARRIED if name in values}
    if certificates:
        kept["cert"] = _CA_INSIDE
    lines = ["[global]", *(f"{name} = {_laid_out(name, value)}" for name, value in kept.items())]
    return PipSettings("\n".join(lines) + "\n", certificates, _folders(kept))


def _precedence(line: str) -> int:
    return ("global.", "install.", ":env:.").index(line[: line.find(".") + 1]) if _known(line) else -1


def _known(line: str) -> bool:
    return line.startswith(("global.", "install.", ":env:."))


def _laid_out(name: str, value: str) -> str:
    return "\n    ".join(value.split()) if name in _LISTS else value


def _folders(kept: dict[str, str]) -> tuple[Path, ...]:
    """Local folders among the places that packages come from."""
    named = " ".join(kept.get(name, "") for name in ("index-url", "extra-index-url", "find-links")).split()
    paths = (
        Path(unquote(urlsplit(place).path) if place.startswith("file:") else place)
        for place in named
        if place.startswith(("file:", "/"))
    )
    # A folder of pages (PEP 503) links to files beside it.
    shown = (path.parent if path.name == "simple" else path for path in paths if path.exists())
    return tuple(dict.fromkeys(shown))
