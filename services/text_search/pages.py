"""Passages as points of the vector store, and ranked lists of passages fused into one list of pages."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any

from chassis.errors import CollectionConflict
from chassis.json_text import sendable
from chassis.vectors.documents import points_of
from chassis.vectors.port import (
    ADDRESS,
    RANK_CONSTANT,
    Origin,
    ScoredPoint,
    SparseVector,
    StoredPoint,
    Vector,
    VectorStore,
    origin_of,
)
from chassis.vectors.rules import is_point_id
from services.text_search.engine import Candidate, FusedHit, Passage, TextIndex

OVERFETCH = 4
"""The search fetches this many times `k`: many of the nearest passages may be of one page."""
_MOST_OF_PAGE = 2
"""Returned passages of one page: the best one may end just before the answer."""

_PICTURED = "pictured"
"""In a point's payload: its dense vector is of the page's picture too."""

Vectors = Mapping[str, Vector]


def unfit(passage: Passage, terms: SparseVector) -> str:
    """Return the reason why a passage cannot be indexed; empty if it can."""
    if not is_point_id(passage.id):
        return "The id is not a UUID in canonical form."
    if not _is_unicode(passage.url + passage.title + passage.text):
        return "It contains invalid Unicode (lone surrogates)."
    return "" if terms.indices else "There is no word in it."


def write_passages(
    store: VectorStore, collection: str, passages: Sequence[Passage], vectors: Mapping[str, Vectors]
) -> None:
    """Write the passages that have `vectors` (by id), and begin those pages anew whose first one is here."""
    points = [
        StoredPoint(passage.id, vectors[passage.id], _payload(passage))
        for passage in passages
        if passage.id in vectors
    ]
    begun = {passage.address for passage in passages if passage.position == 0}
    if addresses := sorted(filter(_is_unicode, begun)):
        store.discard(collection, ADDRESS, addresses, keep=[point.id for point in points])
    if points:
        store.upsert(collection, points)


def _is_unicode(text: str) -> bool:
    """JSON can carry lone surrogates; no store and no model takes them."""
    return sendable(text) == text


def candidate(point: ScoredPoint) -> Candidate:
    """The passage that a search found."""
    payload = point.payload
    modified, origin = payload.get("last_modified"), origin_of(payload)
    passage = Passage(
        id=point.id,
        url=payload["url"],
        title=payload["title"],
        text=payload["text"],
        position=payload["position"],
        last_modified=datetime.fromisoformat(modified) if modified else None,
        sections=tuple(payload["sections"]),
        origin=origin if origin != Origin(payload["url"]) else None,
    )
    return Candidate(passage, point.score)


def passages_of(store: VectorStore, collection: str, addresses: Sequence[str], most: int) -> list[Passage]:
    """Return the first `most` passages of the pages, page by page in their order."""
    places = {address: place for place, address in enumerate(addresses)}
    passages = [candidate(point).passage for point in store.scroll(collection, {ADDRESS: list(places)})]
    return sorted(passages, key=lambda each: (places[each.address], each.position))[:most]


def rename(engine: TextIndex, collection: str, address: str, title: str) -> None:
    """Give a page another title, which is searched too. Its ids stay.

    Raises `NotFound`, and `CollectionConflict` if its vectors are of its picture too, which is not kept.
    """
    points = points_of(engine.store, collection, address)
    if any(point.payload.get(_PICTURED) for point in points):
        raise CollectionConflict("The page was indexed with its picture. Index it again with its new title.")
    engine.index(collection, [replace(candidate(point).passage, title=title) for point in points])


def _payload(passage: Passage) -> dict[str, Any]:
    modified = passage.last_modified.isoformat() if passage.last_modified else None
    return {
        "url": passage.url,
        "title": passage.title,
        "text": passage.text,
        "position": passage.position,
        "last_modified": modified,
        "sections": list(passage.sections),
        **({_PICTURED: True} if passage.picture else {}),
        **(passage.origin or Origin(passage.url)).payload,
    }


def fuse(rankings: Sequence[Sequence[Candidate]], k: int) -> list[FusedHit]:
    """Return `k` passages, at most two a page, of the pages with the highest sums of 1 / (60 + rank).

    Ranks count pages, so that a page with many passages does not push the others down. Equal sums are
    settled by the passages' scores, each as a share of its own sub-query's best.
    """
    page_scores: dict[str, float] = defaultdict(float)
    page_shares: dict[str, float] = defaultdict(float)
    query_indexes: dict[str, list[int]] = defaultdict(list)
    passage_scores: dict[str, tuple[float, float]] = {}
    passages = {}
    for index, ranking in enumerate(rankings):
        ranks: dict[str, int] = {}
        for candidate in ranking:
            passage = candidate.passage
            share = candidate.score / ranking[0].score if ranking[0].score > 0 else 0.0
            if passage.address not in ranks:
                ranks[passage.address] = len(ranks) + 1
                page_scores[passage.address] += 1 / (RANK_CONSTANT + ranks[passage.address])
                page_shares[passage.address] += share
                query_indexes[passage.address].append(index)
            reciprocal, shares = passage_scores.get(passage.id, (0.0, 0.0))
            passage_scores[passage.id] = (
                reciprocal + 1 / (RANK_CONSTANT + ranks[passage.address]),
                shares + share,
            )
            passages[passage.id] = passage
    best: dict[str, list[Passage]] = defaultdict(list)
    for passage_id in sorted(passages, key=lambda each: passage_scores[each], reverse=True):
        best[passages[passage_id].address].append(passages[passage_id])
    ordered = sorted(page_scores, key=lambda url: (-page_scores[url], -page_shares[url], url))
    hits = (
        FusedHit(passage, page_scores[url], tuple(query_indexes[url]))
        for url in ordered
        for passage in best[url][:_MOST_OF_PAGE]
    )
    return list(islice(hits, k))
