"""Pushes images to a registry, and says of each its digest and what is in it."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import yaml

from deploy.images.catalogue import REGISTRY, Image, version

_SBOM_TOOL = "cyclonedx-py"
DIGESTS = "kustomization.yaml"


class CannotPublish(Exception):
    """An image was not published; the text says which and why."""


def publish(engine: str, images: Sequence[Image], registry: str, out: Path) -> None:
    """Push each image; write into `out` a Kustomize component that pins them by digest, and an SBOM of each.

    `registry`: `registry.example` or `registry.example/team`. SBOMs are CycloneDX of the locked Python
    packages, by `cyclonedx-py`. Raises `CannotPublish`, before the first push where a tool is missing.
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
    """The digest by which the registry knows it."""
    _run(engine, "tag", image.reference, target)
    _run(engine, "push", target)
    known = _run(engine, "inspect", "--format", "{{range .RepoDigests}}{{println .}}{{end}}", target)
    repository = target.rpartition(":")[0]
    for line in known.split():
        name, _, digest = line.partition("@")
        if name == repository:
            return digest
    raise CannotPublish(f"{engine} does not tell the digest of {target}.")


def _run(*command: str) -> str:
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode != 0:
        raise CannotPublish(f"This failed: {' '.join(command)}")
    return ran.stdout
