"""The images that were built here, run as they are deployed. Skips where there are none."""

import shutil
import subprocess

import pytest

from deploy.images.catalogue import IMAGES, Image
from deploy.images.measuring import AS_DEPLOYED, started

BY_NAME = {image.name: image for image in IMAGES}
SIZE_LIMIT = 250e6  # of the gateway's


def podman(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["podman", *arguments], capture_output=True, text=True, check=False)


def inside(image: Image, *command: str) -> subprocess.CompletedProcess[str]:
    return podman("run", "--rm", *AS_DEPLOYED, "--entrypoint=", image.reference, *command)


@pytest.fixture(params=["gateway", "image-search", "corpus"])
def image(request: pytest.FixtureRequest) -> Image:
    """One that was built here and can be run."""
    chosen = BY_NAME[request.param]
    if shutil.which("podman") is None:
        pytest.skip("podman is missing: apt-get install podman")
    if podman("image", "exists", chosen.reference).returncode:
        pytest.skip(f"{chosen.reference} is not built: python -m deploy.images build")
    if (tried := inside(chosen, "true")).returncode:
        pytest.skip(f"podman runs no containers here: {tried.stderr.strip()[-200:]}")
    return chosen


def test_a_container_is_nobody_in_particular_and_can_install_nothing(image: Image) -> None:
    assert inside(image, "id", "--user").stdout.strip() == "10001"
    assert inside(image, "python", "-m", "pip").returncode != 0
    assert inside(image, "sh", "-c", "command -v pip gcc cc make strip ld").stdout == ""
    assert inside(image, "touch", "/app/here").returncode != 0


def test_everything_is_compiled_already(image: Image) -> None:
    sources = "find /app /opt/venv/lib -name '*.py' | wc -l; find /app /opt/venv/lib -name '*.pyc' | wc -l"
    written, compiled = inside(image, "sh", "-c", sources).stdout.split()
    assert int(compiled) >= int(written) > 100


def test_an_app_comes_up_on_a_read_only_root_and_goes_when_told(image: Image) -> None:
    if image.target == "tool":
        assert "Usage" in podman("run", "--rm", *AS_DEPLOYED, image.reference, "--help").stdout
        return
    assert started("podman", image).idle > 0


def test_the_gateway_is_small_and_has_no_torch() -> None:
    gateway = BY_NAME["gateway"]
    if shutil.which("podman") is None or podman("image", "exists", gateway.reference).returncode:
        pytest.skip(f"{gateway.reference} is not built: python -m deploy.images build")
    size = int(podman("image", "inspect", "--format={{.Size}}", gateway.reference).stdout)
    assert size < SIZE_LIMIT
