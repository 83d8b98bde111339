"""`GET /`: the wearer's page. Its files are read once, and sent as they are under a strict content policy."""

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response
from starlette.routing import Match

from chassis.errors import LoreglassError, NotFound
from chassis.http.bodies import Router
from chassis.resilience.deadlines import Deadline
from gateway.llm.capabilities import TEXT_ONLY
from gateway.routes.dependencies import GatewayDep
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
"""Those that gzip makes smaller."""
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
_FRESH, _AGED = "no-cache", "max-age=86400"
_MAY_AGE = frozenset((".svg", ".png", ".woff2"))
"""Pictures and type: asked for again only after a day. Everything else is held against its tag each time."""
_LOOK_MS = 500
"""At most so long the page waits to hear whether there is an index."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """One file of the page as it is sent. `packed`: by gzip, None where that is no use."""

    content: bytes
    packed: bytes | None
    media_type: str
    etag: str
    caching: str

    @classmethod
    def of(cls, name: str, content: bytes) -> "PageFile":
        """A file with its type, by its name."""
        suffix = Path(name).suffix
        packed = gzip.compress(content, 9, mtime=0) if suffix in _PACKED else None
        etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        return cls(content, packed, _MEDIA_TYPES[suffix], etag, _AGED if suffix in _MAY_AGE else _FRESH)

    def reply(self, request: Request) -> Response:
        """The file, or that the caller's copy is still the right one."""
        headers = {**HEADERS, "ETag": self.etag, "Vary": "Accept-Encoding", "Cache-Control": self.caching}
        known = [
            tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")
        ]
        if self.etag in known:
            return Response(status_code=304, headers=headers)
        if self.packed is not None and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(
                self.packed, headers={**headers, "Content-Encoding": "gzip"}, media_type=self.media_type
            )
        return Response(self.content, headers=headers, media_type=self.media_type)


def read_files(folder: Path = FOLDER) -> Mapping[str, PageFile]:
    """The page's files by their paths in the folder; the service worker is told which they are.

    The worker keeps those that `_kept` names, under a version that changes with any of them.
    """
    contents = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in _MEDIA_TYPES
    }
    version = hashlib.sha256(b"".join(contents.values())).hexdigest()[:16]
    kept = json.dumps(["/", *_kept(contents)])
    contents[WORKER] = f'const VERSION = "{version}";\nconst FILES = {kept};\n'.encode() + contents[WORKER]
    return {name: PageFile.of(name, content) for name, content in contents.items()}


def _kept(names: Mapping[str, bytes]) -> Iterator[str]:
    """Addresses of what the page needs to run: without the worker itself and what only an installer wants."""
    for name in names:
        if name not in (HOME, WORKER) and not name.endswith((".png", ".webmanifest")):
            yield f"/page/{name}"


def page_router() -> APIRouter:
    """`/`, `/page/…`. Raises `OSError` where the files are missing."""
    files = read_files()
    router = Router(include_in_schema=False)

    @router.get("/")
    async def home(request: Request) -> Response:
        return files[HOME].reply(request)

    @router.get("/page/setup.json")
    async def setup(request: Request, gateway: GatewayDep) -> Response:
        """What the page must know of this installation before it asks."""
        told = {
            "voice": bool(gateway.settings.stt_url),
            "empty": await _is_empty(gateway),
            "deadline_ms": gateway.settings.answer_deadline_ms,
            "operator": _is_served(request, "/operator"),
            "sees_photos": gateway.model().get("photos") != TEXT_ONLY,
        }
        headers = {**HEADERS, "Cache-Control": "no-store"}
        return Response(json.dumps(told), headers=headers, media_type="application/json")

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
    """Whether this deployment has that address."""
    asked = {**request.scope, "path": path}
    return any(route.matches(asked)[0] is Match.FULL for route in request.app.routes)


async def _is_empty(gateway: Gateway) -> bool:
    """Whether there is surely nothing to look into; where a search does not say, perhaps there is."""
    try:
        return not await gateway.services.holds_anything(Deadline.after_ms(_LOOK_MS))
    except LoreglassError:
        return False
