"""Evidence: fusion search, chunking, reranking and assembly (QA-Dragon, sections 3.5 and 3.6)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from contracts.answer import CitationKind
from contracts.reranker import RerankRequest
from contracts.text_search import TextSearchRequest
from gateway.clients.services import Passage, Services
from gateway.planning.explaining import SILENT, Explaining
from gateway.planning.latencies import Work
from gateway.planning.plan import CHARS_A_TOKEN, rerank_items
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import (
    ENTITY_SLOT,
    Draft,
    Entity,
    Evidence,
    Photo,
    PhotoText,
    Query,
    name_sentence,
    photo_evidence,
)
from gateway.thresholds import RetrievalLimits, Thresholds
from language.names import mentions
from language.sentences import columns_of, sentences

MAX_QUERIES = 16  # what one call to text_search takes
CHUNK_WORDS, OVERLAP_WORDS = 100, 30  # QA-Dragon's published chunking

_ENDLESS_WORD = re.compile(r"(\S{200})\S+")
"""Cut after 200 characters: it is no word, and slow to read."""
_LINE_END = re.compile(r"\n+")


def fused_queries(query: Query, draft: Draft, entity: Entity | None) -> tuple[str, ...]:
    """Return the question, then the draft's sub-queries, with the thing's name in (fusion search, 3.5.2)."""
    name = entity.name if entity else draft.entity
    own = f"{name} {query.question}" if name and not mentions(query.question, name) else query.question
    filled = [
        search.replace(ENTITY_SLOT, name or "").strip()
        for search in draft.sub_queries
        if name or ENTITY_SLOT not in search
    ]
    return tuple(dict.fromkeys((own, *filter(None, filled))))


async def find_pages(
    services: Services, queries: Sequence[str], run: Run, photo: Photo | None = None, most: int = 100
) -> tuple[Evidence, ...]:
    """Return what at most `most` pages say, of as many sub-queries and passages as the plan allows."""
    planned = list(queries[: run.plan.sub_queries])
    run.explain.note(Stage.TEXT_SEARCH, planned)
    pages: tuple[Evidence, ...] = ()
    async with run.optional(Stage.TEXT_SEARCH), run.stage(Stage.TEXT_SEARCH, Work(len(planned))) as deadline:
        request = TextSearchRequest(queries=planned, k=min(most, run.plan.text_hits))
        pages = chunks_of(await services.search_pages(request, deadline, photo.jpeg if photo else None))
    run.explain.add_results(Stage.TEXT_SEARCH, pages)
    return pages


async def search_web(services: Services, queries: Sequence[str], run: Run) -> tuple[Evidence, ...]:
    """Return what pages of the open web say; empty without a web search, or where it fails."""
    pages: tuple[Evidence, ...] = ()
    async with run.optional(Stage.WEB_SEARCH), run.stage(Stage.WEB_SEARCH) as deadline:
        request = TextSearchRequest(queries=list(queries[:MAX_QUERIES]), k=run.plan.text_hits)
        passages = await services.search_web(request, deadline)
        pages = tuple(replace(chunk, kind=CitationKind.WEB) for chunk in chunks_of(passages))
    run.explain.note(Stage.WEB_SEARCH, queries)
    run.explain.add_results(Stage.WEB_SEARCH, pages)
    return pages


def chunks_of(passages: Sequence[Passage]) -> tuple[Evidence, ...]:
    """Return the passages of a search in chunks, which know their passage's place in it."""
    return tuple(
        replace(chunk, place=place)
        for place, passage in enumerate(passages)
        for chunk in page_evidence(passage)
    )


def page_evidence(passage: Passage) -> Iterator[Evidence]:
    """Return a passage in chunks of about 100 words that overlap and never cut a sentence."""
    whole = passage_evidence(passage)
    for text in chunk_text(whole.text):
        start = whole.text.find(text.partition("\n")[0])
        yield replace(whole, text=text, section=whole.section_at(start), passage=whole.text)


def passage_evidence(passage: Passage) -> Evidence:
    """Return a passage in one piece."""
    return Evidence(
        _ENDLESS_WORD.sub(r"\1", passage.text),
        passage.title,
        passage.url,
        CitationKind.PAGE,
        last_modified=passage.last_modified,
        sections=passage.sections,
    )


def entity_evidence(entity: Entity) -> Iterator[Evidence]:
    """A sentence per attribute: "The <key> of <entity> is <value>" (3.6.1); if it has none, its name."""
    facts = [
        f"The {key.replace('_', ' ')} of {entity.name} is {value.rstrip('.')}."
        for key, value in entity.attributes
    ]
    if entity.title and not facts:
        facts = [name_sentence(entity.name)]
    for text in facts:
        yield Evidence(text, entity.title or entity.name, entity.url, CitationKind.IMAGE, entity=entity.name)


def in_key_and_value(text: str, source: Evidence) -> str:
    """Return text of the source, with attributes as people read them: "Doge's Palace, begun: 1340."."""
    name = source.entity
    if name is None:
        return text
    start = rf"\bThe ((?:(?!The ).){{1,100}}?) of {re.escape(name)} is "
    return re.sub(start, lambda match: f"{name}, {match[1]}: ", text)


def attribute_evidence(entity: Entity | None) -> Iterator[Evidence]:
    """Return the attributes' sentences as one paragraph, chunked like any other (3.6.1, eq. 1)."""
    if entity is None:
        return
    block = " ".join(item.text for item in entity_evidence(entity))
    for text in chunk_text(block):
        yield Evidence(text, entity.title or entity.name, entity.url, CitationKind.IMAGE, entity=entity.name)


def attributes_of(things: Sequence[Entity]) -> tuple[Evidence, ...]:
    """Return the attributes of things that images show, in their order."""
    return tuple(
        replace(item, score=thing.probability) for thing in things for item in attribute_evidence(thing)
    )


def prompt_tokens(evidence: Sequence[Evidence], most_chars: int) -> int:
    """About how many tokens of a prompt the evidence takes."""
    return min(sum(len(item.text) for item in evidence), most_chars) // CHARS_A_TOKEN


def chunk_text(text: str) -> list[str]:
    """Windows of whole sentences and rows, `CHUNK_WORDS` at most unless one is longer, overlapping."""
    parts = [
        part
        for line in _LINE_END.split(text)
        for part in ([line] if columns_of(line) else [each.text for each in sentences(line)])
        if part.strip()
    ]
    chunks: list[list[str]] = []
    for sentence in parts:
        if chunks and _words(chunks[-1]) + _words([sentence]) <= CHUNK_WORDS:
            chunks[-1].append(sentence)
        else:
            chunks.append([*_tail(chunks[-1] if chunks else []), sentence])
    return ["\n".join(chunk) if "\n" in text else " ".join(chunk) for chunk in chunks]


def _words(parts: Iterable[str]) -> int:
    return sum(len(part.split()) for part in parts)


def _tail(parts: Sequence[str]) -> list[str]:
    """Return the last sentences that fit the overlap."""
    last: list[str] = []
    for part in reversed(parts):
        if _words([part, *last]) > OVERLAP_WORDS:
            break
        last.insert(0, part)
    return last


async def rank_chunks(
    services: Services,
    question: str,
    chunks: Sequence[Evidence],
    run: Run,
    entity: Entity | None = None,
    photo: Photo | None = None,
) -> tuple[Evidence, ...]:
    """Return the first chunks, as many as the plan allows, with the reranker's scores or in search order.

    `entity`, `photo`: what the question is about, if that is known (eq. 2 and 3, in the service).
    """
    plan = run.plan
    ranked = in_search_order(chunks[: plan.chunks])
    if not plan.rerank:
        await run.skip(Stage.RERANKER)
        return ranked
    size = Work(rerank_items(len(ranked), plan.fine_chunks) if ranked else 0)
    async with run.optional(Stage.RERANKER), run.stage(Stage.RERANKER, size) as deadline:
        if ranked:
            request = RerankRequest(
                query=question,
                documents=[item.in_context for item in ranked],
                entity=entity.name if entity else None,
                fine_top_n=plan.fine_chunks,
            )
            scores = await services.rerank(request, deadline, photo.jpeg if photo else None)
            ranked = tuple(replace(item, score=score) for item, score in zip(ranked, scores, strict=True))
    return ranked


def in_search_order(evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Scores that keep the order in hand, for when the reranker is out: 1/2, 1/3, 1/4, …"""
    return tuple(replace(item, score=1 / (place + 2)) for place, item in enumerate(evidence))


def assemble(
    ranked: Sequence[Evidence],
    photo_text: PhotoText,
    thresholds: Thresholds,
    retrieval: RetrievalLimits,
    explain: Explaining = SILENT,
) -> tuple[Evidence, ...]:
    """Return the best chunks, most relevant first, without repeats; then the photo's words (eq. 4).

    The search's own first chunks are kept whatever the reranker made of them: search and reranker
    seldom miss the same paraphrase. Signal: `evidence_top`, the best relevance, kept or not.
    """
    explain.signal("evidence_top", max((item.score for item in ranked), default=None))
    relevant = [item for item in ranked if item.score >= thresholds.relevant]
    best = sorted(relevant, key=lambda item: -item.score)[: retrieval.chunks_to_keep]
    facts = [item for item in ranked if item.kind is CitationKind.IMAGE][: retrieval.leading_facts]
    pages = [item for item in ranked if item.is_page][: retrieval.leading_chunks]
    unique = {item.text: item for item in (*facts, *pages, *reversed(best))}
    return (*sorted(unique.values(), key=lambda item: -item.score), *photo_evidence(photo_text))
