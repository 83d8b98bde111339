"""Passages of web pages: a search API names pages, which are fetched, read and ranked by BM25."""

import math
import uuid
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit
from urllib.robotparser import RobotFileParser

import anyio
import anyio.to_thread
import structlog
from anyio.from_thread import start_blocking_portal

from chassis.errors import LoreglassError, Overloaded
from chassis.http.fetching import FetchFailed, PublicFetcher
from chassis.models.cancellation import current_call
from chassis.recent import RecentlyUsed
from chassis.resilience.deadlines import Clock, Deadline
from corpus.chunking import cut_page
from corpus.pages import NoContent, PageFormat
from corpus.reading import document_readers, read_content
from services.text_search.engine import FusedHit, Passage
from services.text_search.engines.web_providers import WebProvider, WebResult
from services.text_search.lexical import passage_weights, query_weights

AGENT = "Loreglass"
MOST_QUERIES = 2
"""Of a call, the most telling first: each is one paid request."""
MOST_A_PAGE = 3
_MOST_PASSAGES = 200
"""Of one page: of a book only the beginning is read."""
_NO_CALLER_MS = 10_000
_SEARCH_SHARE, _READ_SHARE = 0.5, 0.6
"""Shares of the caller's time after which the search API, then the pages are not waited for any more."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class WebLimits:
    """`pages` are read for a call. `keep_s`: pages, results and robots.txt are cached for so long.

    `per_minute`: requests to the search API. `robots`: respect robots.txt.
    """

    pages: int = 5
    keep_s: float = 3600.0
    per_minute: int = 60
    robots: bool = True


class WebTextSearch:
    """Searches and reads on one event loop of its own; thread-safe."""

    def __init__(
        self, provider: WebProvider, fetcher: PublicFetcher, limits: WebLimits, clock: Clock
    ) -> None:
        """Start the loop; `close` ends it."""
        self._provider, self._fetcher, self._limits, self._clock = provider, fetcher, limits, clock
        self._results = RecentlyUsed[str, list[WebResult]](512, limits.keep_s, clock)
        self._pages = RecentlyUsed[str, tuple[Passage, ...]](64, limits.keep_s, clock)
        self._robots = RecentlyUsed[str, RobotFileParser](512, limits.keep_s, clock)
        self._sent: deque[float] = deque(maxlen=limits.per_minute)
        self._readers = document_readers(at_once=2)
        self._opened = ExitStack()
        self._portal = self._opened.enter_context(start_blocking_portal())
        self._opened.callback(self._readers.close)
        self._opened.callback(lambda: self._portal.call(provider.close))

    def search(
        self,
        queries: Sequence[str],
        k: int,
        collection: str,
        depth: int | None = None,
        photo: bytes | None = None,
    ) -> list[FusedHit]:
        """Return the `k` best passages for the first queries, at most three a page.

        Raises `DeadlineExceeded`, `DependencyUnavailable` and `Overloaded` as the search API.
        """
        call = current_call()
        deadline = call.deadline if call else Deadline.after_ms(_NO_CALLER_MS, self._clock)
        chosen = list(queries[:MOST_QUERIES])
        passages = self._portal.call(self._find, chosen, deadline)
        return self._rank(chosen, passages, k)

    def probe(self) -> None:
        """Rank a sample: a search would cost money."""
        self._rank(["Who wrote it?"], [Passage("0", "https://example.org", "It", "She wrote it.")], 1)

    def close(self) -> None:
        """Stop the loop, its connections and its processes."""
        self._opened.close()

    async def _find(self, queries: Sequence[str], deadline: Deadline) -> list[Passage]:
        share = deadline.remaining_s() * _SEARCH_SHARE
        rankings = [await self._ask(query, share / len(queries)) for query in queries]
        results = list({each.url: each for each in _by_turns(rankings)}.values())
        passages = {each.url: _excerpt(each) for each in results}
        with anyio.move_on_after(deadline.remaining_s() * _READ_SHARE):
            async with anyio.create_task_group() as group:
                for result in results[: self._limits.pages]:
                    group.start_soon(self._read, result, passages, deadline)
        return [each for page in passages.values() for each in page]

    async def _ask(self, query: str, seconds: float) -> list[WebResult]:
        results = self._results.get(query)
        if results is None:
            now = self._clock()
            if len(self._sent) == self._sent.maxlen and now - self._sent[0] < 60:
                raise Overloaded("The web was searched too often.", retry_after_s=60 - (now - self._sent[0]))
            self._sent.append(now)
            results = await self._provider.search(query, seconds)
            self._results.put(query, results)
        return results

    async def _read(
        self, result: WebResult, passages: dict[str, tuple[Passage, ...]], deadline: Deadline
    ) -> None:
        """Put the page's passages in the place of its excerpt, which stays if the page cannot be read."""
        pieces = self._pages.get(result.url)
        if pieces is None:
            try:
                if not await self._may_fetch(result.url):
                    return
                content = await self._fetcher.fetch(result.url)
                page = await read_content(self._readers, _format_of(content), content, deadline)
            except (FetchFailed, NoContent, LoreglassError) as reason:
                log.info("page_not_read", host=urlsplit(result.url).hostname, reason=str(reason))
                return
            title, date = page.title or result.title, page.last_modified or result.last_modified
            cut = await anyio.to_thread.run_sync(cut_page, page)  # some megabytes take a while
            pieces = tuple(
                Passage(_id_of(piece.text), result.url, title, piece.text, place, date, piece.sections)
                for place, piece in enumerate(cut[:_MOST_PASSAGES])
            )
            self._pages.put(result.url, pieces)
        passages[result.url] = pieces

    async def _may_fetch(self, url: str) -> bool:
        """Return whether robots.txt allows it; not if the host fails to say (RFC 9309, section 2.3.1)."""
        if not self._limits.robots:
            return True
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        rules = self._robots.get(origin)
        if rules is None:
            rules = RobotFileParser()
            try:
                text = (await self._fetcher.fetch(f"{origin}/robots.txt")).decode("utf-8", "replace")
                rules.parse(text.splitlines())
            except FetchFailed as error:
                refused = error.status is not None and 400 <= error.status < 500
                rules.parse(["User-agent: *", "Allow: /" if refused else "Disallow: /"])
            self._robots.put(origin, rules)
        return rules.can_fetch(AGENT, url)

    def _rank(self, queries: Sequence[str], passages: Sequence[Passage], k: int) -> list[FusedHit]:
        vectors = [passage_weights(passage) for passage in passages]
        weights = [dict(zip(each.indices, each.values, strict=True)) for each in vectors]
        holding = Counter(term for each in weights for term in each)
        idf = {term: math.log(1 + len(weights) / count) for term, count in holding.items()}
        queries_terms = [query_weights(query).indices for query in queries]
        hits: list[FusedHit] = []
        for passage, each in zip(passages, weights, strict=True):
            scores = [
                sum(idf[term] * each[term] for term in terms if term in each) for terms in queries_terms
            ]
            query_indexes = tuple(index for index, score in enumerate(scores) if score > 0)
            hits.append(FusedHit(passage, max(scores, default=0.0), query_indexes))
        best: list[FusedHit] = []
        taken: Counter[str] = Counter()
        for hit in sorted(hits, key=lambda hit: -hit.score):
            if hit.score > 0 and taken[hit.passage.url] < MOST_A_PAGE and len(best) < k:
                taken[hit.passage.url] += 1
                best.append(hit)
        return best


def _by_turns(rankings: Sequence[Sequence[WebResult]]) -> Iterable[WebResult]:
    """Yield the first of each ranking, then the second of each, and so on."""
    for place in range(max(map(len, rankings), default=0)):
        yield from (ranking[place] for ranking in rankings if place < len(ranking))


def _excerpt(result: WebResult) -> tuple[Passage, ...]:
    text = result.text.strip()
    if not text:
        return ()
    return (Passage(_id_of(text), result.url, result.title, text, last_modified=result.last_modified),)


def _id_of(text: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, text))


def _format_of(content: bytes) -> PageFormat:
    start = content[:1024].lstrip()
    if start.startswith(b"%PDF-"):
        return PageFormat.PDF
    return PageFormat.HTML if b"<" in start else PageFormat.TEXT
