"""The two platforms that `make load` sends questions to."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from bench.node.launch import Node
from bench.ports import free_ports
from bench.processes import running, until_ready
from bench.wearers.material import of_routes, of_world, write
from corpus.cli import index
from corpus.ingest import ingest_pages, ingest_photos
from deploy.inventory import APPS
from deploy.sample import SAMPLE


@dataclass(frozen=True, slots=True)
class Target:
    """Where wearers go. `material`: what they look at and ask there."""

    url: str
    material: Path


@dataclass(frozen=True, slots=True)
class Platform:
    """`users`: about half of those that it serves on two cores; `open` takes a folder to work in."""

    title: str
    users: int
    open: Callable[[Path], AbstractContextManager[Target]]


@contextmanager
def _pocket(folder: Path) -> Iterator[Target]:
    """One process, over the index of the sample."""
    material = folder / "sample-asked"
    write(of_world(SAMPLE), material)
    gateway, first, *_ = free_ports(len(APPS))
    url = f"http://127.0.0.1:{gateway}"
    with tempfile.TemporaryDirectory() as data:
        settings = {
            "LOREGLASS_PORT": str(gateway),
            "LOREGLASS_SERVICE_PORT": str(first),
            "LOREGLASS_DATA_DIR": data,
            "LOREGLASS_LOG_LEVEL": "warning",
        }
        with running("deploy.one_process", settings=settings, speaks=False) as platform:
            until_ready(url, platform.process)
            _index(SAMPLE, _service_urls(first))
            yield Target(url, material)


@contextmanager
def _node(folder: Path) -> Iterator[Target]:
    """Run the gateway as it is deployed, in front of a node at an L40S's pace."""
    material = folder / "routes-asked"
    write(of_routes(), material)
    (port,) = free_ports(1)
    url = f"http://127.0.0.1:{port}"
    with Node("l40s") as node:
        settings = {
            **node.gateway_environment,
            "LOREGLASS_GATEWAY_PORT": str(port),
            "LOREGLASS_GATEWAY_LATENCIES": "l40s",
            "LOREGLASS_GATEWAY_LOG_LEVEL": "warning",
        }
        with running("gateway", settings=settings, speaks=False) as gateway:
            until_ready(url, gateway.process)
            yield Target(url, material)


PLATFORMS = {
    "pocket": Platform("the pocket platform", 4, _pocket),
    "node": Platform("a gateway in front of a simulated L40S", 4, _node),
}


def _service_urls(first: int) -> Mapping[str, str]:
    """In the order of the default ports, which `deploy.one_process` keeps."""
    services = sorted((app.port, app.name) for app in APPS if app.name != "gateway")
    return {name: f"http://127.0.0.1:{first + place}" for place, (_, name) in enumerate(services)}


def _index(sample: Path, urls: Mapping[str, str]) -> None:
    quiet = Console(quiet=True)
    for ingest, what, service in (
        (ingest_photos, "images", "image_search"),
        (ingest_pages, "pages", "text_search"),
    ):
        if index(ingest, what, sample / f"{what}.jsonl", urls[service], replace=True, console=quiet):
            raise RuntimeError(f"The {what} could not be indexed.")
