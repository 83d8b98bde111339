"""Search services inside the actors that index: vectors are made by the services' code, with their settings.

Each is before the Qdrant server that `LOREGLASS_…_QDRANT_URL` names, as the service is that readers ask. (An
embedded store is open in one process only, so without a server nothing can be indexed in this way.)
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from chassis.errors import NotConfigured
from chassis.http.serving import BoundApp, listen, running


@asynccontextmanager
async def text_search() -> AsyncIterator[str]:
    """Its address on this machine. Raises `NotConfigured` without a server."""
    from services.text_search.app import create_app
    from services.text_search.settings import TextSearchSettings

    settings = TextSearchSettings()
    _require_server(settings.qdrant_url)
    async with _served(create_app(settings)) as url:
        yield url


@asynccontextmanager
async def image_search() -> AsyncIterator[str]:
    """The same for photos."""
    from services.image_search.app import create_app
    from services.image_search.settings import Engine, ImageSearchSettings

    settings = ImageSearchSettings()
    if settings.engine is Engine.BUILTIN:
        raise NotConfigured(
            "The built-in engine keeps a photo's features beside its index; let the service embed."
        )
    _require_server(settings.qdrant_url)
    async with _served(create_app(settings)) as url:
        yield url


def _require_server(qdrant_url: str) -> None:
    if not qdrant_url:
        raise NotConfigured("Actors that embed need a Qdrant server; name it as LOREGLASS_…_QDRANT_URL.")


@asynccontextmanager
async def _served(app: FastAPI) -> AsyncIterator[str]:
    bound = BoundApp(app, listen("127.0.0.1", 0))
    async with running([bound]):
        yield bound.url


EMBEDDERS = {"images": image_search, "pages": text_search}
"""By the alias of what they index."""
