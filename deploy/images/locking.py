"""Which versions each image installs: its groups, resolved within the versions that are locked already."""

import re
import subprocess
from collections.abc import Sequence

from deploy.images.catalogue import ROOT, Image

_WITH_TORCH = re.compile(r"^(torch|torchvision|triton|cuda-[a-z]+|nvidia-[a-z0-9-]+)==")
"""Installed apart: which they are depends on the build of torch."""


class CannotLock(Exception):
    """uv finds no set of versions, or is missing."""


def lock(images: Sequence[Image]) -> None:
    """Write each image's requirements. Raises `CannotLock`."""
    for image in images:
        text = resolved(image)
        kept = [line for line in text.splitlines() if not (image.cuda and _WITH_TORCH.match(line))]
        image.requirements.write_text("\n".join(kept) + "\n")


def resolved(image: Image) -> str:
    """What uv makes of its groups, one `name==version` a line. Raises `CannotLock`."""
    command = [
        "uv",
        *("pip", "compile", "pyproject.toml", "--quiet", "--no-header", "--no-annotate"),
        *("--python-version", "3.11", "--no-emit-package", "loreglass", "--constraint", "constraints.txt"),
        *(f"--extra={group}" for group in image.groups),
    ]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise CannotLock("Locking needs uv: pip install uv.") from error
    if done.returncode != 0:
        raise CannotLock(f"{image.name}: {done.stderr.strip()}")
    return done.stdout
