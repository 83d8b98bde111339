"""Served files: the users' page at `/`, and the API reference, Swagger UI, at `/docs`.

Files are read once. The users' page has a strict content policy.
"""

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.routing import Match

from chassis.errors import LoreglassError, NotFound
from chassis.http.bodies import Router
from chassis.resilience.deadlines import Deadline
from gateway.llm.capabilities import TEXT_ONLY
from gateway.routes.intake import GatewayDep
from gateway.wiring import Gateway

FOLDER = Path(__file__).resolve().parents[1] / "page"
HOME, WORKER = "index.html", "sw.js"
_MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
}
_PACKED = frozenset((".html", ".css", ".js", ".svg", ".webmanifest"))
"""Files that gzip makes smaller."""
_POLICY = (
    "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; connect-src 'self'; "
    "object-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(self), microphone=(self), geolocation=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_LOOK_MS = 500
"""The longest wait for whether anything is indexed."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file of the page. `packed`: compressed by gzip, None if that is no use."""

    content: bytes
    packed: bytes | None
    media_type: str
    etag: str

    @classmethod
    def of(cls, name: str, content: bytes) -> "PageFile":
        """Return a file with the media type of its name."""
        suffix = Path(name).suffix
        packed = gzip.compress(content, 9, mtime=0) if suffix in _PACKED else None
        etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        return cls(content, packed, _MEDIA_TYPES[suffix], etag)

    def reply(self, request: Request) -> Response:
        """Return the file, or 304 if the client has it."""
        headers = {**HEADERS, "ETag": self.etag, "Cache-Control": "no-cache", "Vary": "Accept-Encoding"}
        if self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if self.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(
                self.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=self.media_type
            )
        return Response(self.content, headers=headers, media_type=self.media_type)


def read_files(folder: Path = FOLDER) -> Mapping[str, PageFile]:
    """Return the page's files by their paths in the folder.

    The service worker gets the list of files to cache, and a version that changes with any of them.
    """
    contents = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in _MEDIA_TYPES
    }
    version = hashlib.sha256(b"".join(contents.values())).hexdigest()[:16]
    cached = json.dumps(["/", *_offline_paths(contents)])
    contents[WORKER] = f'const VERSION = "{version}";\nconst FILES = {cached};\n'.encode() + contents[WORKER]
    return {name: PageFile.of(name, content) for name, content in contents.items()}


def _offline_paths(names: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the paths that the page needs offline, without the worker and files for installation."""
    for name in names:
        if name not in (HOME, WORKER) and not name.endswith((".png", ".webmanifest")):
            yield f"/page/{name}"


def page_router() -> APIRouter:
    """Return the routes `/` and `/page/…`. Raises `OSError` if files are missing."""
    files = read_files()
    router = Router(include_in_schema=False)

    @router.get("/")
    async def home(request: Request) -> Response:
        return files[HOME].reply(request)

    @router.get("/page/setup.json")
    async def setup(request: Request, gateway: GatewayDep) -> Response:
        """Return the installation's settings that the page needs."""
        setup = {
            "voice": bool(gateway.settings.stt_url),
            "empty": await _is_empty(gateway),
            "deadline_ms": gateway.settings.answer_deadline_ms,
            "operator": _is_served(request, "/operator"),
            "memory_days": gateway.execution.memory.days if gateway.execution.memory else None,
            "sees_photos": gateway.model().get("photos") != TEXT_ONLY,
        }
        headers = {**HEADERS, "Cache-Control": "no-store"}
        return Response(json.dumps(setup), headers=headers, media_type="application/json")

    @router.get("/page/{name:path}")
    async def file(name: str, request: Request) -> Response:
        if name not in files:
            raise NotFound("The page has no such file.")
        reply = files[name].reply(request)
        if name == WORKER:
            reply.headers["Service-Worker-Allowed"] = "/"
        return reply

    return router


def _is_served(request: Request, path: str) -> bool:
    scope = {**request.scope, "path": path}
    return any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)


async def _is_empty(gateway: Gateway) -> bool:
    """Return whether surely nothing is indexed; False if a search does not answer."""
    try:
        return not await gateway.services.holds_anything(Deadline.after_ms(_LOOK_MS))
    except LoreglassError:
        return False


_PACKAGE = "fastapi_swagger"
"""Only its files are used: it packs each release of Swagger UI."""
_OWN = Path(__file__).resolve().parents[1] / "reference"
_FILES = ("index.html", "start.js", "swagger-ui.css", "swagger-ui-bundle.js")


@cache
def _file(name: str) -> PageFile:
    """Return a file, read and packed once."""
    own = _OWN / name
    path = own if own.is_file() else resources.files(_PACKAGE) / "resources" / name
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
