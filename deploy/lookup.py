"""`GET /v1/search` and `GET /v1/things`: what the index holds, without an answer. For callers who may ask."""

from typing import Annotated

from fastapi import APIRouter, Query

from chassis.http.app import RequestDeadline
from chassis.http.bodies import Router
from contracts.documents import Document
from corpus.ingest import Index
from deploy.documents import open_documents
from deploy.indexing import Indexing
from gateway.routes.intake import CallerDep, GatewayDep
from loreglass_client.models import Passage, Passages, Thing, Things

_MOST = 20
_MOST_LISTED = 200
"""Photos by name, among which a thing is looked for."""

Limit = Annotated[int, Query(ge=1, le=_MOST)]


def lookup_router(indexing: Indexing) -> APIRouter:
    """Return the routes."""
    router = Router(include_in_schema=False)

    @router.get("/v1/search")
    async def search(
        _: CallerDep,
        gateway: GatewayDep,
        deadline: RequestDeadline,
        q: Annotated[str, Query(min_length=1, max_length=2_000)],
        limit: Limit = 5,
    ) -> Passages:
        passages = await gateway.services.search_pages([q], limit, deadline)
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
