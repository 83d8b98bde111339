"""Pushes images to a registry, and says of each its digest and what is in it."""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

from deploy.images.catalogue import REGISTRY, Image, version

_SBOM_TOOL = "cyclonedx-py"
DIGESTS = "kustomization.yaml"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class CannotPublish(Exception):
    """An image was not published; the text says which and why."""


def publish(engine: str, images: Sequence[Image], registry: str, out: Path) -> None:
    """Push each image; write into `out` a Kustomize component that pins them by digest, and an SBOM of each.

    `registry`: `registry.example` or `registry.example/team`. SBOMs are CycloneDX of the locked Python
    packages, by `cyclonedx-py`; torch of the CUDA images and Debian's packages are not among them.
    Raises `CannotPublish`, before the first push where a tool is missing.
    """
    if shutil.which(_SBOM_TOOL) is None:
        raise CannotPublish(f"There is no {_SBOM_TOOL} here: pip install cyclonedx-bom.")
    out.mkdir(parents=True, exist_ok=True)
    pins = []
    for image in images:
        target = f"{registry.rstrip('/')}/loreglass/{image.name}"
        digest = _pushed(engine, image, f"{target}:{version()}")
        pins.append({"name": f"{REGISTRY}/{image.name}", "newName": target, "digest": digest})
        sbom = out / f"{image.name}.cdx.json"
        _run(_SBOM_TOOL, "requirements", str(image.requirements), "--output-file", str(sbom))
    component = {"apiVersion": "kustomize.config.k8s.io/v1alpha1", "kind": "Component", "images": pins}
    (out / DIGESTS).write_text(yaml.safe_dump(component, sort_keys=False))


def _pushed(engine: str, image: Image, target: str) -> str:
    """The digest by which the registry knows it; a local one is of layers that are not compressed yet."""
    _run(engine, "tag", image.reference, target)
    with tempfile.TemporaryDirectory(prefix="loreglass-push-") as folder:
        told = Path(folder) / "digest"
        if engine == "podman":
            _run(engine, "push", f"--digestfile={told}", target)
            pushed = told.read_text() if told.exists() else ""
        else:
            pushed = _run(engine, "push", target)
    if found := _DIGEST.search(pushed):
        return found[0]
    raise CannotPublish(f"{engine} does not tell the digest of {target}.")


def _run(*command: str) -> str:
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode != 0:
        raise CannotPublish(f"This failed: {' '.join(command)}")
    return ran.stdout
