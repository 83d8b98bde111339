"""`/v1/documents`: list, show, index, rename and remove documents of a platform in one process.

Every change makes a new version of the index; `loreglass index rollback` undoes it.
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
from chassis.http.bodies import Router, read_form
from chassis.http.calls import ServiceClient, http_client
from chassis.json_text import JsonLimits, read_json
from contracts.documents import LONGEST_LISTING, LONGEST_NAME, DocumentContent, Documents, HeldAddresses
from contracts.message import Message
from contracts.message import Request as Body
from corpus.documents import DocumentIndex
from corpus.ingest import Index
from corpus.manifests import METADATA
from corpus.photo_records import LARGEST_PHOTO
from corpus.pipeline import Outcome
from corpus.sources import SourceName
from deploy.indexing import Indexing
from deploy.operator import require_operator

_METADATA = JsonLimits(max_bytes=2**16, max_items=512)
_LONGEST_PART = 200
"""Bytes of a folder's or a file's name."""

Address = Annotated[str, Query(min_length=1, max_length=4_096)]
Text = Annotated[str, Query(max_length=LONGEST_NAME)]


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
        """Documents by name."""
        async with open_documents(indexing, index) as documents:
            return await documents.find(page.q, page.source, page.offset, page.limit)

    @router.delete("")
    async def remove_source(
        index: Index, source: Annotated[str, Query(min_length=1, max_length=LONGEST_NAME)]
    ) -> HeldAddresses:
        """Remove all documents of a source."""
        with indexing.changing_index():
            async with open_documents(indexing, index) as documents:
                return HeldAddresses(addresses=await documents.remove(source=source))

    @router.get("/document")
    async def show(index: Index, address: Address) -> DocumentContent:
        """A document as it is searched."""
        async with open_documents(indexing, index) as documents:
            return await documents.show(address)

    _add_changes(router, indexing)
    return router


def _add_changes(router: APIRouter, indexing: Indexing) -> None:
    """Add the routes that change one document."""

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
                outcome, remarks, kept_at = await _index(indexing, index, source, path, content, facts)
                return IndexedDocument(
                    outcome=outcome, remarks=remarks, document=await documents.show(kept_at)
                )

    @router.patch("/document")
    async def rename(index: Index, address: Address, new: NewName) -> DocumentContent:
        """Give a document another name."""
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
    """Open the documents of an index."""
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
