"""Other people's images by digest: a tag can be moved, what a digest names cannot."""

import hashlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from deploy.images.catalogue import ROOT

_REFERENCE = re.compile(
    r"(?P<name>(?:docker\.io|ghcr\.io|quay\.io)/[\w./-]+:[\w.-]+)(?P<digest>@sha256:[0-9a-f]{64})?"
)
_SECONDS = 60


class CannotPin(Exception):
    """A registry did not tell a digest, or there is no skopeo to ask it."""


def pin(root: Path = ROOT) -> Iterator[str]:
    """Write the digest that the registry has now behind every tag; yields each reference.

    Raises `CannotPin`, before a file is changed.
    """
    files = {path: path.read_text(encoding="utf-8") for path in _files(root)}
    names = sorted({found["name"] for text in files.values() for found in _REFERENCE.finditer(text)})
    pinned = {name: f"{name}@{_digest(name)}" for name in names}
    for path, text in files.items():
        path.write_text(_REFERENCE.sub(lambda found: pinned[found["name"]], text), encoding="utf-8")
    yield from pinned.values()


def _files(root: Path) -> Iterator[Path]:
    yield root / "docker-compose.yml"
    yield from sorted((root / "deploy/compose").glob("*.yml"))
    yield from sorted((root / "services").glob("*/presets.py"))
    yield from sorted((root / "k8s").rglob("*.yaml"))
    yield from sorted((root / "deploy/images").glob("*.Dockerfile"))
    yield root / "deploy/images/catalogue.py"


def _digest(reference: str) -> str:
    """Of the list of manifests, where there is one for several kinds of machine."""
    command = ["skopeo", "inspect", "--raw", f"docker://{reference}"]
    try:
        told = subprocess.run(command, capture_output=True, check=False, timeout=_SECONDS)
    except FileNotFoundError as error:
        raise CannotPin("There is no skopeo here: apt install skopeo.") from error
    except subprocess.TimeoutExpired as error:
        raise CannotPin(f"The registry of {reference} does not answer.") from error
    if told.returncode != 0 or not told.stdout:
        raise CannotPin(f"{reference}: {told.stderr.decode(errors='replace').strip() or 'no manifest'}")
    return f"sha256:{hashlib.sha256(told.stdout).hexdigest()}"
