"""What is locked, of all kinds: Python and npm packages, and the software of other people's images."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PIN = re.compile(r"^([\w.-]+)==([^\s;]+)", re.MULTILINE)
_IMAGE = re.compile(r"image:\s*\"?(?:[\w.-]+/)*([\w.-]+):v?(\d[\w.]*)")
_SOFTWARE = {
    "vllm-openai": ("PyPI", "vllm"),
    "redis": ("Bitnami", "redis"),
    "prometheus": ("Bitnami", "prometheus"),
    "grafana": ("Bitnami", "grafana"),
}
"""The OSV package of an image's software; of the others OSV tells nothing."""


@dataclass(frozen=True, slots=True, order=True)
class Package:
    """`ecosystem` in OSV's words."""

    ecosystem: str
    name: str
    version: str


def packages(root: Path) -> list[Package]:
    """Everything that the files of this project pin, once each."""
    python = (Package("PyPI", *pin) for pin in _PIN.findall(_text(root / "requirements/hashes.txt")))
    torch = (Package("PyPI", *pin) for pin in re.findall(r"\b(torch)==([\d.]+)", _text(root / "Makefile")))
    npm = _npm(json.loads(_text(root / "clients/mentra/package-lock.json")))
    return sorted({*python, *torch, *npm, *_images(root)})


def _npm(lock: dict[str, dict[str, dict[str, str]]]) -> Iterator[Package]:
    for path, entry in lock["packages"].items():
        if path and "version" in entry:
            yield Package("npm", path.rpartition("node_modules/")[2], entry["version"])


def _images(root: Path) -> Iterator[Package]:
    for path in (root / "docker-compose.yml", *sorted((root / "k8s").rglob("*.yaml"))):
        for image, version in _IMAGE.findall(_text(path)):
            if image in _SOFTWARE:
                yield Package(*_SOFTWARE[image], version.partition("-")[0])


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
