"""Stages on the photo: its print, the things it shows, and the question's domain."""

from asyncio import TaskGroup
from collections.abc import Awaitable, Callable

import anyio

from contracts.answer import LookedAtKind
from contracts.domain_router import Domain
from gateway.clients.services import Services
from gateway.planning.prefetch import Prefetch
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import DomainGuess, Entity, PhotoText, Query

CLASSIFY_MS = 500  # an answer is not worth waiting longer for its label, at the usual deadline
CLASSIFY_CHARS = 4_096  # what one call takes
ADVICE_WAIT_S = 0.04  # a router that sees the photo takes 12 ms on an L40S
OCR_LINES = "ocr_lines"  # in `degraded`: the photo has more lines than are read
SURE = 0.5  # likelier than all other domains together


async def read_text(services: Services, query: Query, run: Run) -> PhotoText:
    """OCR of the photo; nothing when there is none."""
    text = PhotoText()
    async with run.optional(Stage.OCR), run.stage(Stage.OCR) as deadline:
        if query.photo is not None:
            text = await services.read_text(query.photo.jpeg, deadline)
    if text.left_out:
        run.did_less(OCR_LINES)
    for line in text.lines:
        run.look_at(LookedAtKind.TEXT, line.place, line.text)
    return text


async def search_whole_photo(services: Services, query: Query, count: int, run: Run) -> tuple[Entity, ...]:
    """Candidates for what the whole photo shows, each once; explained are all hits."""
    entities: tuple[Entity, ...] = ()
    async with run.optional(Stage.IMAGE_SEARCH), run.stage(Stage.IMAGE_SEARCH) as deadline:
        if query.photo is not None:
            entities = await services.search_photos([query.photo.jpeg], count, deadline)
    run.explain.add_results(Stage.IMAGE_SEARCH, entities)
    likeliest: dict[str, Entity] = {}
    for entity in entities:
        likeliest.setdefault(entity.name, entity)
    return tuple(likeliest.values())


async def classify_domain(
    services: Services, query: Query, read: Callable[[], Awaitable[PhotoText]], run: Run
) -> DomainGuess:
    """Return the question's domain; a router that cannot see the photo is told what it says."""
    question, guess = _with_the_one_before(query), DomainGuess()
    jpeg = query.photo.jpeg if query.photo and services.photo_to.domain_router else None
    async with run.optional(Stage.DOMAIN_ROUTER), run.stage(Stage.DOMAIN_ROUTER) as deadline:
        text = (await read()).rows if jpeg is None else ""
        guess = await services.classify(question, text, deadline.within(CLASSIFY_MS * run.pace), jpeg)
    return guess


async def domain_in_time(services: Services, query: Query, guess: Prefetch[DomainGuess]) -> Domain | None:
    """Return the domain where the router is sure of it at once, which one that waits for OCR is not."""
    if query.photo is None or not services.photo_to.domain_router:
        return None
    result = DomainGuess()
    with anyio.move_on_after(ADVICE_WAIT_S):
        result = await guess.result()
    return result.domain if result.probability >= SURE else None


def _with_the_one_before(query: Query) -> str:
    """Put the question before a follow-up ("and how long is it?"), which alone seldom tells its domain."""
    if query.photo_is_new or not query.history:
        return query.question
    return f"{query.history[-1].question}\n{query.question}"[-CLASSIFY_CHARS:]


def begin_image_search(
    group: TaskGroup, services: Services, query: Query, run: Run, most: int, *, now: bool = True
) -> Prefetch[tuple[Entity, ...]]:
    """The things that the whole photo shows. Not `now`: searched when the result is first asked for."""
    return run.prefetch(group, lambda: search_whole_photo(services, query, most, run), (), now=now)
