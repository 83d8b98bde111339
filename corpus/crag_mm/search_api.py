"""CRAG-MM's search API, an object that users install themselves, behind typed and frozen results.

Its own shapes are those of `cragmm-search-pipeline` 0.5: a call with a picture gives images with entities, a
call with a text gives web pages.
"""

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar

from PIL import Image

from chassis.images import ImageLimits, upright_rgb
from corpus.attributes import clean_attributes, clean_markup, clean_snippet
from corpus.crag_mm.web_index import split_chunk
from corpus.manifests import web_url

_OVER = 3
_MOST_ASKED = 300
_LONGEST_QUERY = 4_000


class SearchPipeline(Protocol):
    """What the package's pipeline can be called with; `k` results at most come back."""

    def __call__(self, query: Image.Image | str, /, k: int) -> Any:
        """A list of dicts."""
        ...


class SearchApiError(Exception):
    """The search API failed, or gave back something else than a list; the message says which."""


@dataclass(frozen=True, slots=True)
class FoundEntity:
    """One thing in a picture; `attributes` in plain text, not to be written to."""

    name: str
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FoundImage:
    """A picture of the index. `score`: cosine similarity, at most 1."""

    index: int
    url: str
    score: float
    entities: tuple[FoundEntity, ...]


@dataclass(frozen=True, slots=True)
class FoundPage:
    """The best passage of a page; `chunk` is its place in the page, where the index tells."""

    url: str
    title: str
    snippet: str
    score: float
    chunk: int | None = None


Hit = TypeVar("Hit", FoundImage, FoundPage)


@dataclass(frozen=True, slots=True)
class Found(Generic[Hit]):
    """Hits by falling score, one for each URL, and why results were left out."""

    hits: tuple[Hit, ...]
    rejected: tuple[str, ...] = ()


class SearchApi:
    """The pipeline is made when it is first asked: that loads two models and two indexes."""

    def __init__(self, make: Callable[[], SearchPipeline]) -> None:
        """`make`: builds the installed package's pipeline."""
        self._make = make
        self._pipeline: SearchPipeline | None = None

    def images(self, photo: bytes, k: int = 5) -> Found[FoundImage]:
        """The `k` most similar pictures. Blocking. Raises `SearchApiError`, and what `upright_rgb` raises.

        A photo is bytes and nothing else: the pipeline would open a path or a URL itself.
        """
        if not isinstance(photo, bytes):
            raise SearchApiError("A photo is searched for by its bytes, never by a path or a URL.")
        picture = upright_rgb(photo, ImageLimits(), max_side=None)
        return self._distinct(picture, k, _image)

    def pages(self, query: str, k: int = 5) -> Found[FoundPage]:
        """The `k` best pages. Blocking. Raises `SearchApiError`."""
        asked = _as_text_only(query)
        return self._distinct(asked, k, _page) if asked else Found(())

    def _distinct(
        self, query: Image.Image | str, k: int, read: Callable[[Mapping[str, Any]], Hit]
    ) -> Found[Hit]:
        """Asks for more than `k`, and for more still, since results of one URL count as one."""
        asked = min(max(k, 1) * _OVER, _MOST_ASKED)
        while True:
            results = self._ask(query, asked)
            found = _read(results, k, read)
            if len(found.hits) >= k or asked >= _MOST_ASKED or not results:
                return found
            asked = min(asked * _OVER, _MOST_ASKED)

    def _ask(self, query: Image.Image | str, k: int) -> Sequence[Any]:
        try:
            if self._pipeline is None:
                self._pipeline = self._make()
            results = self._pipeline(query, k=k)
        except Exception as error:
            raise SearchApiError(f"The search API failed ({type(error).__name__}).") from error
        if not isinstance(results, list):
            raise SearchApiError("The search API gave back no list.")
        return results


def _as_text_only(query: str) -> str:
    """A query that the pipeline takes for nothing but text: quoted where it reads as a path or a URL."""
    text = " ".join(query.replace("\0", " ").split())[:_LONGEST_QUERY]
    if text.lower().startswith("http") or os.path.exists(text):
        text = f'"{text}"'
    if os.path.exists(text):
        raise SearchApiError("The query is the name of a file on this machine.")
    return text


def _read(results: Sequence[Any], k: int, read: Callable[[Mapping[str, Any]], Hit]) -> Found[Hit]:
    hits: dict[str, Hit] = {}
    rejected: list[str] = []
    for place, result in enumerate(results):
        try:
            hit = read(_mapping(result))
        except _BadResult as reason:
            rejected.append(f"result {place}: {reason}")
            continue
        best = hits.get(hit.url)
        if best is None or hit.score > best.score:
            hits[hit.url] = hit
    ranked = sorted(hits.values(), key=lambda hit: -hit.score)
    return Found(tuple(ranked[: max(k, 0)]), tuple(rejected))


class _BadResult(Exception):
    """Why one result is left out."""


def _mapping(result: object) -> Mapping[str, Any]:
    if not isinstance(result, Mapping):
        raise _BadResult("It is no object.")
    return result


def _image(result: Mapping[str, Any]) -> FoundImage:
    index = result.get("index")
    if isinstance(index, bool) or not isinstance(index, int):
        raise _BadResult("index is not a number.")
    entities = result.get("entities")
    if not isinstance(entities, list | tuple):
        raise _BadResult("entities is not a list.")
    return FoundImage(index, _url(result, "url"), _score(result), tuple(map(_entity, entities)))


def _entity(entity: object) -> FoundEntity:
    told = _mapping(entity)
    name = told.get("entity_name")
    cleaned = clean_markup(name) if isinstance(name, str) else ""
    if not cleaned:
        raise _BadResult("An entity has no name.")
    # The pipeline hands out its own knowledge graph by reference; cleaning makes a new mapping of new texts.
    return FoundEntity(cleaned, MappingProxyType(clean_attributes(told.get("entity_attributes"))))


def _page(result: Mapping[str, Any]) -> FoundPage:
    index = result.get("index")
    chunk = split_chunk(index)[1] if isinstance(index, str) else None
    snippet = result.get("page_snippet")
    title = result.get("page_name")
    return FoundPage(
        url=_url(result, "page_url"),
        title=clean_snippet(title) if isinstance(title, str) else "",
        snippet=clean_snippet(snippet) if isinstance(snippet, str) else "",
        score=_score(result),
        chunk=chunk,
    )


def _url(result: Mapping[str, Any], key: str) -> str:
    told = result.get(key)
    url = web_url(told) if isinstance(told, str) else ""
    if not url.startswith(("http://", "https://")):
        raise _BadResult(f"{key} is no web address.")
    return url


def _score(result: Mapping[str, Any]) -> float:
    """Also numpy's numbers are numbers."""
    try:
        score = float(result["score"])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise _BadResult("score is not a number.") from None
    if not math.isfinite(score):
        raise _BadResult("score is not a finite number.")
    return score
