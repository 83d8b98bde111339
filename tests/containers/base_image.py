"""A stand-in for `python:3.11-slim-bookworm` where no registry can be reached: made from Debian's archive.

`python -m tests.containers.base_image` (as root; needs debootstrap and podman). It has what the Dockerfile
asks of its base: Debian bookworm, `python` 3.11 with `venv`, CA certificates. For checks only; releases are
built on the public image.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

TAG = "localhost/loreglass-base:bookworm"
MIRROR = "http://deb.debian.org/debian"
PACKAGES = ("ca-certificates", "python3.11", "python3.11-venv")
_NOT_IN_A_SLIM_IMAGE = (
    "usr/share/doc",
    "usr/share/man",
    "usr/share/info",
    "usr/share/locale",
    "var/cache/apt",
    "var/lib/apt/lists",
    "var/log",
    "debootstrap",
)


class CannotMake(Exception):
    """The base cannot be made here; the text says why."""


def missing_tools() -> str:
    """Why it cannot be made here, or nothing."""
    if os.geteuid() != 0:
        return "making the base image needs root"
    absent = [tool for tool in ("debootstrap", "chroot", "podman") if shutil.which(tool) is None]
    return f"{', '.join(absent)} missing: apt-get install podman debootstrap" if absent else ""


def present() -> bool:
    """Whether podman has it already."""
    return (
        subprocess.run(["podman", "image", "inspect", TAG], capture_output=True, check=False).returncode == 0
    )


def make() -> None:
    """Bootstrap, slim and import it. Raises `CannotMake`."""
    if reason := missing_tools():
        raise CannotMake(reason)
    with tempfile.TemporaryDirectory(prefix="loreglass-base-") as folder:
        root = Path(folder) / "root"
        _run("debootstrap", "--variant=minbase", "bookworm", str(root), MIRROR)
        _install(root)
        _slim(root)
        archive = Path(folder) / "base.tar"
        _run("tar", "--create", "--directory", str(root), "--file", str(archive), ".")
        _run(
            "podman",
            "import",
            "--change=ENV PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
            "--change=ENV LANG=C.UTF-8",
            '--change=CMD ["python3"]',
            str(archive),
            TAG,
        )


def _install(root: Path) -> None:
    """Debian's own Python under the names that the public image has."""
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    _run("chroot", str(root), "apt-get", "update", "--quiet", environment=quiet)
    _run(
        "chroot",
        str(root),
        "apt-get",
        "install",
        "--yes",
        "--no-install-recommends",
        *PACKAGES,
        environment=quiet,
    )
    for name in ("python", "python3"):
        (root / "usr/local/bin" / name).symlink_to("/usr/bin/python3.11")


def _slim(root: Path) -> None:
    for name in _NOT_IN_A_SLIM_IMAGE:
        place = root / name
        if place.is_dir():
            shutil.rmtree(place)
    for name in ("var/cache/apt/archives/partial", "var/lib/apt/lists/partial", "var/log"):
        (root / name).mkdir(parents=True, exist_ok=True)
    for cache in list(root.rglob("__pycache__")):
        shutil.rmtree(cache)
    (root / "etc/resolv.conf").unlink(missing_ok=True)  # the builder's; each engine writes its own


def _run(*command: str, environment: dict[str, str] | None = None) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotMake(f"{' '.join(command[:3])} failed:\n{(done.stdout + done.stderr)[-2000:]}")


if __name__ == "__main__":
    make()
