"""A small synthetic world, ingested through the public ways into each kind of deployment."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest

from corpus.ingest import IngestOptions, ingest_pages, ingest_photos
from evaluation.rows import World, load_world
from evaluation.world.generate import main as generate_world
from evaluation.world.plan import Split
from tests.journey.asking import Outcomes, ask_all
from tests.journey.deployments import Deployment, OneProcess, SeparateProcesses

ENTITIES = 14
KINDS = {"one_process": OneProcess, "separate": SeparateProcesses}


@pytest.fixture(scope="session")
def world_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample world, smaller than the demo's."""
    folder = tmp_path_factory.mktemp("world")
    generate_world(Split.SAMPLE, folder, None, ENTITIES)
    return folder


@pytest.fixture(scope="session")
def world(world_folder: Path) -> World:
    """Its questions, with their truth."""
    return load_world(world_folder)


@pytest.fixture(scope="session", params=list(KINDS))
def deployment(
    request: pytest.FixtureRequest, world_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Deployment]:
    """A running platform that knows the world's catalogue and pages."""
    made: Deployment = KINDS[request.param](tmp_path_factory.mktemp(request.param))
    made.start()
    try:
        ingest(made, world_folder)
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def outcomes(deployment: Deployment, world: World) -> Outcomes:
    """What this deployment answers; asked once, looked at by many tests."""
    return anyio.run(ask_all, deployment.gateway_url, world)


def ingest(deployment: Deployment, folder: Path) -> None:
    """Both manifests, over HTTP, with nothing rejected."""
    urls = deployment.service_urls
    options = IngestOptions()
    photos = anyio.run(ingest_photos, folder / "images.jsonl", urls["image_search"], options)
    pages = anyio.run(ingest_pages, folder / "pages.jsonl", urls["text_search"], options)
    assert photos.rejected == pages.rejected == ()
    assert photos.indexed > 0
    assert pages.indexed > 0
