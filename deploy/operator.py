"""The operator's page of a platform in one process: list what is indexed, upload more, follow the indexing.

Only with an operator's key or, where no keys are set up, on this machine itself.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel
from starlette.datastructures import Headers, UploadFile
from starlette.responses import Response

from chassis.addresses import is_loopback
from chassis.errors import InvalidRequest, Unauthorized, problem_of
from chassis.http.access import is_sent_from_here
from chassis.http.bodies import Router, read_form
from chassis.http.problems import problem_response
from chassis.resilience.deadlines import Deadline
from corpus.folders import thing_in
from corpus.manifests import PHOTO_SUFFIXES
from corpus.sources import SourceName
from deploy.administration import RiskChoice, administration_router
from deploy.contents import Contents, Entry
from deploy.examples import Example, examples_of
from deploy.indexing import UPLOADS, Indexing, Job
from gateway.routes.dependencies import GatewayDep
from gateway.routes.page import PageFile
from gateway.routes.streaming import Emit, EventStream
from services.image_search.thumbnails import Thumbnails

MOST_LISTED = 48
MOST_ADDRESSES = 100
_OF_THE_TIME = 0.9
_FILES = ("operator.css", "operator.js", "administration.js", "why.js")


class Listed(BaseModel):
    """A thing or a page. `parts`: its photos or passages. `picture`: a `data:` address, where kept.

    `addresses`: of its documents, at most 100, for `/v1/documents`.
    """

    name: str
    url: str
    parts: int
    picture: str = ""
    addresses: list[str] = []


class Listing(BaseModel):
    """`total` entries in the index, `found` of them with the text looked for, and a page of those.

    `parts`: photos or passages in all.
    """

    total: int
    parts: int
    found: int
    items: list[Listed]


class Waiting(BaseModel):
    """A file that waits, and what its name says that it shows, if it is a `photo`.

    `replaces`: something is indexed under its name, which it will replace.
    """

    name: str
    photo: bool
    thing: str = ""
    replaces: bool = False


class UploadsState(BaseModel):
    """Files that wait to be indexed, and whether a job is under way."""

    files: list[Waiting]
    running: bool


class JobRequest(BaseModel):
    """The source to index: the uploads, or the built-in sample."""

    sample: bool = False


class Slice(BaseModel):
    """A page of a listing; `q`: letters that a name must hold."""

    offset: Annotated[int, Query(ge=0, le=10**9)] = 0
    limit: Annotated[int, Query(ge=1, le=MOST_LISTED)] = 24
    q: Annotated[str, Query(max_length=200)] = ""


@dataclass(frozen=True, slots=True)
class Operator:
    """The parts that the routes use."""

    photos: Contents
    pages: Contents
    thumbnails: Thumbnails
    indexing: Indexing
    risk: RiskChoice


async def require_operator(request: Request, gateway: GatewayDep) -> None:
    """Let an operator's key in or, where this machine needs none, a browser on it. Raises `Unauthorized`."""
    settings, key = gateway.settings, request.headers.get("authorization")
    holder = gateway.keys.holder(key)
    if holder is not None and holder.operator:
        return
    if settings.keys is None or settings.local_without_key:
        if not is_of_this_machine(request):
            raise Unauthorized("Without an operator's key this is for the platform's own machine only.")
    elif not gateway.keys.caller(key, None).operator:
        raise Unauthorized("This key is not an operator's; loreglass key new --operator makes one.")


def is_of_this_machine(request: Request) -> bool:
    """Return whether a program of this machine, and no page of somebody else's in its browser, sends this.

    A name that is made to point here (DNS rebinding) shows in `Host`, another page in `Origin` and
    `Sec-Fetch-Site`, a proxy in the headers that it adds.
    """
    headers: Headers = request.headers
    host = headers.get("host", "")
    if not is_sent_from_here(request.scope) or not is_loopback(_name_of(host)):
        return False
    if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
        return False
    return headers.get("origin", f"http://{host}") in (f"http://{host}", f"https://{host}")


def _name_of(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def operator_router(operator: Operator) -> APIRouter:
    """`/operator`, a page without data that anybody may have, and the routes below it."""
    router = Router(include_in_schema=False)
    router.include_router(_page_router())
    for routes in (_data_router(operator), administration_router(operator.risk)):
        router.include_router(routes, prefix="/operator", dependencies=[Depends(require_operator)])
    return router


def _page_router() -> APIRouter:
    router = Router()
    folder = Path(__file__).parent
    names = {"": "operator.html", **{f"/{name}": name for name in _FILES}}
    files = {
        f"/operator{path}": PageFile.of(name, (folder / name).read_bytes()) for path, name in names.items()
    }

    async def page_file(request: Request) -> Response:
        return files[request.url.path].reply(request)

    for path in files:
        router.get(path)(page_file)
    return router


def _data_router(operator: Operator) -> APIRouter:
    router, indexing = Router(), operator.indexing

    @router.get("/photos")
    async def photos(page: Annotated[Slice, Query()]) -> Listing:
        """Things whose photos are indexed."""
        return await _page_of(operator.photos, page, operator.thumbnails)

    @router.get("/pages")
    async def pages(page: Annotated[Slice, Query()]) -> Listing:
        """Pages that are indexed."""
        return await _page_of(operator.pages, page)

    @router.get("/uploads")
    async def uploads() -> UploadsState:
        """List waiting files."""
        names = await anyio.to_thread.run_sync(indexing.uploads.names)
        return UploadsState(files=await _waiting(operator, names), running=indexing.running)

    @router.post("/uploads", status_code=201)
    async def hand_over(request: Request) -> Waiting:
        """Hand over one file, as the part `file` of a form."""
        async with read_form(request, max_files=1, max_fields=0) as form:
            file = form.get("file")
            if not isinstance(file, UploadFile) or not file.size:
                raise InvalidRequest("file: must be a file part that is not empty.")
            name, size = file.filename or "", file.size
            with indexing.changing_uploads():
                place = await anyio.to_thread.run_sync(indexing.uploads.keep, name, file.file, size)
        [waiting] = await _waiting(operator, [place])
        return waiting

    @router.delete("/uploads")
    async def clear() -> UploadsState:
        """Forget what waits."""
        with indexing.changing_uploads():
            await anyio.to_thread.run_sync(indexing.uploads.clear)
        return await uploads()

    @router.post("/job", status_code=202)
    async def start(job: JobRequest) -> UploadsState:
        """Begin to index."""
        await indexing.start(sample=job.sample)
        return await uploads()

    @router.get("/job")
    async def follow(request: Request) -> Response:
        """The job that runs or ran last, from its first event on; it does not depend on who watches."""
        job, trace_id = indexing.job, request.state.trace_id
        return EventStream(
            partial(_follow_in_time, job, request.state.deadline),
            lambda error: problem_response(error, trace_id),
            lambda error: problem_of(error, trace_id),
        )

    _add_examples(router, indexing)
    return router


def _add_examples(router: APIRouter, indexing: Indexing) -> None:
    @router.get("/examples")
    async def examples() -> list[Example]:
        """Photos of the sample to ask about; none where it is not installed."""
        return await anyio.to_thread.run_sync(examples_of, indexing.sample)


async def _follow_in_time(job: Job, deadline: Deadline, emit: Emit) -> None:
    """A stream that ends before the hard stop is opened again; one that breaks off looks like a fault."""
    with anyio.move_on_after(deadline.remaining_s() * _OF_THE_TIME):
        await job.follow(emit)


async def _waiting(operator: Operator, names: Sequence[str]) -> list[Waiting]:
    addresses = {name: SourceName(UPLOADS).origin(name).address for name in names}
    documents = list(addresses.values())
    indexed = await operator.photos.held(documents) | await operator.pages.held(documents)
    files = []
    for name, address in addresses.items():
        path = PurePosixPath(name)
        photo = path.suffix.lower() in PHOTO_SUFFIXES
        thing = thing_in(path) if photo else ""
        files.append(Waiting(name=name, photo=photo, thing=thing, replaces=address in indexed))
    return files


async def _page_of(contents: Contents, page: Slice, pictures: Thumbnails | None = None) -> Listing:
    whole = await contents.listing()
    looked_for = page.q.casefold()
    matches = [each for each in whole.entries if looked_for in each.name.casefold()]
    entries = matches[page.offset : page.offset + page.limit]
    items = await anyio.to_thread.run_sync(_items, entries, pictures)
    return Listing(total=len(whole.entries), parts=whole.points, found=len(matches), items=items)


def _items(entries: Sequence[Entry], pictures: Thumbnails | None) -> list[Listed]:
    """Blocking. Pictures come along: a page with a key cannot send it with an image's address."""
    items = []
    for each in entries:
        jpeg = pictures.read(each.first) if pictures else None
        picture = "data:image/jpeg;base64," + base64.b64encode(jpeg).decode() if jpeg else ""
        addresses = sorted(each.addresses)[:MOST_ADDRESSES]
        items.append(
            Listed(name=each.name, url=each.url, parts=each.points, picture=picture, addresses=addresses)
        )
    return items
