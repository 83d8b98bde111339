"""The two platforms that `make load` sends questions to."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.node.launch import Node
from bench.pocket import index_sample, one_process
from bench.ports import free_ports
from bench.processes import running, until_ready
from bench.wearers.material import of_routes, of_world, write
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
    with tempfile.TemporaryDirectory() as data, one_process(Path(data)) as (_, urls, _):
        index_sample(urls)
        yield Target(urls["gateway"], material)


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
