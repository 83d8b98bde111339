"""`GET /docs`: the interactive API reference, Swagger UI with its files from this server."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from chassis.errors import NotConfigured, NotFound
from chassis.http.bodies import Router
from gateway.routes.page import PageFile

_PACKAGE = "fastapi_swagger"
"""Only its files are used: it packs each release of Swagger UI."""
_OWN = Path(__file__).resolve().parents[1] / "reference"
_FILES = ("index.html", "start.js", "swagger-ui.css", "swagger-ui-bundle.js")


@cache
def _file(name: str) -> PageFile:
    """Return a file, read and packed once. Raises `NotConfigured` without the package."""
    spec = find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise NotConfigured(f"The package {_PACKAGE.replace('_', '-')} is not installed here.")
    own = _OWN / name
    path = own if own.is_file() else Path(spec.origin).parent / "resources" / name
    return PageFile.of(name, path.read_bytes())


def reference_router() -> APIRouter:
    """Return the routes `/docs` and `/docs/…`."""
    router = Router(include_in_schema=False)

    @router.get("/docs")
    async def page(request: Request) -> Response:
        return (await to_thread.run_sync(_file, _FILES[0])).reply(request)

    @router.get("/docs/{name}")
    async def file(name: str, request: Request) -> Response:
        if name not in _FILES:
            raise NotFound("The API reference has no such file.")
        return (await to_thread.run_sync(_file, name)).reply(request)

    return router
