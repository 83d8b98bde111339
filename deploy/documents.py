"""`/v1/documents`: list, show, index, rename and remove documents of a platform in one process.

Every change makes a new version of the index; `loreglass index rollback` undoes it. `/v1/search` and
`/v1/things` show callers what the index holds, without an answer.
"""

import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path, PurePosixPath
from typing import Annotated, Any
from urllib.parse import unquote

import anyio.to_thread
from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel
from starlette.datastructures import UploadFile

from chassis.errors import InvalidRequest, MalformedRequest, NotFound, PayloadTooLarge
from chassis.http.app import RequestDeadline
from chassis.http.bodies import Router, read_form
from chassis.http.calls import ServiceClient, http_client
from chassis.json_text import JsonLimits, read_json
from contracts.documents import (
    LONGEST_LISTING,
    LONGEST_NAME,
    Document,
    DocumentContent,
    Documents,
    HeldAddresses,
)
from contracts.message import Message
from contracts.message import Request as Body
from contracts.text_search import TextSearchRequest
from corpus.documents import DocumentIndex
from corpus.ingest import Index
from corpus.pipeline import Outcome
from corpus.records import LARGEST_PHOTO
from corpus.sources import METADATA, SourceName
from deploy.indexing import Indexing
from deploy.operator import require_operator
from gateway.routes.intake import CallerDep, GatewayDep
from loreglass_client.models import Passage, Passages, Thing, Things

_METADATA = JsonLimits(max_bytes=2**16, max_items=512)
_MOST = 20
_MOST_LISTED = 200
"""Photos by name, among which a thing is looked for."""
_LONGEST_PART = 200
"""Bytes of a folder's or a file's name."""

Address = Annotated[str, Query(min_length=1, max_length=4_096)]
Text = Annotated[str, Query(max_length=LONGEST_NAME)]
Limit = Annotated[int, Query(ge=1, le=_MOST)]


class Listed(BaseModel):
    """A page of a listing. `q`: letters of a name or address; `source`: the name of what was indexed."""

    q: Text = ""
    source: Text = ""
    offset: Annotated[int, Query(ge=0, le=10**9)] = 0
    limit: Annotated[int, Query(ge=1, le=LONGEST_LISTING)] = 100


class NewName(Body):
    """A page's title, or the thing that a photo shows."""

    name: Annotated[str, Query(min_length=1, max_length=LONGEST_NAME)]


class IndexedDocument(Message):
    """The outcome of a file (`added`, `replaced`, `unchanged`), and the document as it is searched now.

    `remarks`: on pages that were not read, and on text that was left out.
    """

    outcome: Outcome
    remarks: str = ""
    document: DocumentContent


def documents_router(indexing: Indexing) -> APIRouter:
    """The routes; each needs an operator."""
    router = Router(
        prefix="/v1/documents/{index}", include_in_schema=False, dependencies=[Depends(require_operator)]
    )

    @router.get("")
    async def list_documents(index: Index, page: Annotated[Listed, Query()]) -> Documents:
        async with open_documents(indexing, index) as documents:
            return await documents.find(page.q, page.source, page.offset, page.limit)

    @router.delete("")
    async def remove_source(
        index: Index, source: Annotated[str, Query(min_length=1, max_length=LONGEST_NAME)]
    ) -> HeldAddresses:
        with indexing.changing_index():
            async with open_documents(indexing, index) as documents:
                return HeldAddresses(addresses=await documents.remove(source=source))

    @router.get("/document")
    async def show(index: Index, address: Address) -> DocumentContent:
        async with open_documents(indexing, index) as documents:
            return await documents.show(address)

    _add_changes(router, indexing)
    return router


def _add_changes(router: APIRouter, indexing: Indexing) -> None:
    @router.put("/document")
    async def index_file(index: Index, address: Address, request: Request) -> IndexedDocument:
        """Index a file, the part `file` of a form, in place of what was indexed from this address.

        `metadata`: a JSON object with what is known of a photo, as in a line of `metadata.jsonl`.
        """
        async with read_form(request, max_files=1, max_fields=1) as form:
            file, metadata = form.get("file"), form.get("metadata", "{}")
            if not isinstance(file, UploadFile) or not file.size or not isinstance(metadata, str):
                raise InvalidRequest("file: must be a file part that is not empty; metadata: a text part.")
            if file.size > LARGEST_PHOTO:
                raise PayloadTooLarge(f"The file is larger than {LARGEST_PHOTO >> 20} MiB.")
            content, facts = await file.read(), _object(metadata)
        with indexing.changing_index():
            async with open_documents(indexing, index) as documents:
                source, path = await _place(documents, address)
                outcome, remarks, stored_address = await _index(indexing, index, source, path, content, facts)
                return IndexedDocument(
                    outcome=outcome, remarks=remarks, document=await documents.show(stored_address)
                )

    @router.patch("/document")
    async def rename(index: Index, address: Address, new: NewName) -> DocumentContent:
        with indexing.changing_index():
            async with open_documents(indexing, index) as documents:
                return await documents.rename(address, new.name)

    @router.delete("/document")
    async def remove(index: Index, address: Address) -> HeldAddresses:
        """Remove a document; `addresses` is empty if it was not there."""
        with indexing.changing_index():
            async with open_documents(indexing, index) as documents:
                return HeldAddresses(addresses=await documents.remove([address]))


@asynccontextmanager
async def open_documents(indexing: Indexing, index: Index) -> AsyncIterator[DocumentIndex]:
    searches = indexing.searches
    async with http_client() as http:
        service = ServiceClient(http, index.service, searches.url(index), token=searches.token)
        yield DocumentIndex(service, index, searches.patience)


async def _place(documents: DocumentIndex, address: str) -> tuple[str, PurePosixPath]:
    """Return the source's name and the path in it. Raises `InvalidRequest`."""
    if not address.startswith("file:"):
        raise InvalidRequest("address: only documents with a file: address are sent here.")
    whole = unquote(address.removeprefix("file:"))
    try:
        source = (await documents.show(address)).source
    except NotFound:
        source = ""
    source = source if source and whole.startswith(f"{source}/") else whole.partition("/")[0]
    path = PurePosixPath(whole.removeprefix(source).removeprefix("/"))
    if not source or not path.parts or not whole.isprintable() or any(map(_is_odd, path.parts)):
        raise InvalidRequest("address: must be file:SOURCE/PATH, without hidden or parent folders.")
    return source, path


def _is_odd(part: str) -> bool:
    return part.startswith(".") or len(part.encode(errors="replace")) > _LONGEST_PART


def _object(text: str) -> dict[str, Any]:
    try:
        value = read_json(text, _METADATA)
    except MalformedRequest as error:
        raise MalformedRequest("metadata: not valid JSON.") from error
    if not isinstance(value, dict):
        raise InvalidRequest("metadata: must be an object.")
    return value


async def _index(
    indexing: Indexing, index: Index, source: str, path: PurePosixPath, content: bytes, facts: dict[str, Any]
) -> tuple[Outcome, str, str]:
    """Index one file; return its outcome, remarks on it and its address. Raises `InvalidRequest`."""
    outcomes: list[tuple[Outcome, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        await anyio.to_thread.run_sync(_write, Path(folder), path, content, facts)
        await indexing.searches.ingest(
            index, Path(folder), source, lambda where, outcome, reason: outcomes.append((outcome, reason))
        )
    for outcome, reason in outcomes:
        if outcome is Outcome.REJECTED:
            raise InvalidRequest(f"file: {reason}")
    return *outcomes[0], SourceName(source).origin(path.as_posix()).address


def _write(folder: Path, path: PurePosixPath, content: bytes, facts: dict[str, Any]) -> None:
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(content)
    if facts:
        (folder / METADATA).write_text(json.dumps({**facts, "file_name": path.as_posix()}), encoding="utf-8")


def lookup_router(indexing: Indexing) -> APIRouter:
    """`GET /v1/search` and `GET /v1/things`, for callers who may ask."""
    router = Router(include_in_schema=False)

    @router.get("/v1/search")
    async def search(
        _: CallerDep,
        gateway: GatewayDep,
        deadline: RequestDeadline,
        q: Annotated[str, Query(min_length=1, max_length=2_000)],
        limit: Limit = 5,
    ) -> Passages:
        passages = await gateway.services.search_pages(TextSearchRequest(queries=[q], k=limit), deadline)
        return Passages(
            passages=[Passage(title=each.title, url=each.url, text=each.text) for each in passages]
        )

    @router.get("/v1/things")
    async def look_up(
        _: CallerDep, name: Annotated[str, Query(min_length=1, max_length=200)], limit: Limit = 5
    ) -> Things:
        async with open_documents(indexing, Index.IMAGES) as documents:
            listed = (await documents.find(name, limit=_MOST_LISTED)).documents
            nearest = sorted(_one_of_each(listed, name), key=lambda each: _distance(each, name))
            contents = [await documents.show(each.address) for each in nearest[:limit]]
        return Things(
            things=[Thing(name=each.name, url=each.url, facts=each.attributes) for each in contents]
        )

    return router


def _one_of_each(documents: list[Document], name: str) -> list[Document]:
    """Return a photo of each thing whose own name holds `name`: others match by their addresses."""
    things = {each.name: each for each in documents if name.casefold() in each.name.casefold()}
    return list(things.values())


def _distance(document: Document, name: str) -> tuple[bool, int]:
    return document.name.casefold() != name.casefold(), len(document.name)
