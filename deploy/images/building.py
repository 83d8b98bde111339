"""Builds images with podman or docker."""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.images.catalogue import BASE, ROOT, Image, version
from deploy.images.pip_settings import PipSettings, pip_settings

_LABELS = "org.opencontainers.image"


class CannotBuild(Exception):
    """An image was not built; the text says which and why."""


@dataclass(frozen=True, slots=True)
class Builder:
    """`engine`: `podman` or `docker`; `torch_from`: options of pip that say where torch is from."""

    engine: str = "podman"
    base: str = BASE
    torch_from: str = ""

    def build(self, images: Sequence[Image]) -> None:
        """One after the other; the engine's output is the user's to see. Raises `CannotBuild`."""
        with _secrets(pip_settings()) as (secrets, folders):
            if folders and self.engine != "podman":
                raise CannotBuild(
                    f"pip takes packages from {folders[0]}, which only podman can show to a build"
                    " (docker has no --volume there): serve it by HTTP, or build with podman."
                )
            for image in images:
                mounts = [f"--volume={folder}:{folder}:ro" for folder in folders]
                command = [*self.command(image), *secrets, *mounts, str(ROOT)]
                if subprocess.run(command, check=False).returncode != 0:
                    raise CannotBuild(f"{image.reference} was not built.")

    def command(self, image: Image) -> list[str]:
        """What builds it, without the secrets and the context."""
        arguments = {"BASE": self.base, **image.arguments}
        if image.cuda:
            arguments["TORCH_FROM"] = self.torch_from
        return [
            self.engine,
            "build",
            # The one that keeps health checks; OCI's own image format has no place for them.
            *(("--format=docker", "--layers") if self.engine == "podman" else ()),
            f"--file={image.dockerfile}",
            f"--target={image.target}",
            f"--tag={image.reference}",
            *(f"--label={_LABELS}.{name}={value}" for name, value in labels(image, self.base).items()),
            *(f"--build-arg={name}={value}" for name, value in arguments.items()),
        ]


def labels(image: Image, base: str) -> dict[str, str]:
    """OCI's annotations, without the prefix."""
    told = {"title": f"Loreglass {image.name}", "version": version(), "base.name": base}
    if shutil.which("git") is None:  # from an archive of the sources
        return told
    asked = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return told | ({"revision": asked.stdout.strip()} if asked.returncode == 0 else {})


@contextlib.contextmanager
def _secrets(pip: PipSettings) -> Iterator[tuple[list[str], tuple[Path, ...]]]:
    """Options that hand pip's settings to a build, and the folders it needs to see."""
    with tempfile.TemporaryDirectory(prefix="loreglass-build-") as folder:
        configuration = Path(folder) / "pip.conf"
        configuration.touch(mode=0o600)
        configuration.write_text(pip.configuration)
        options = [f"--secret=id=pip,src={configuration}"]
        if pip.certificates:
            options.append(f"--secret=id=ca,src={pip.certificates.resolve()}")
        yield options, pip.folders
