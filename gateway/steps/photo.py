"""Stages on the photo: its print, the question's domain, similar photos, and the thing that is asked for."""

from asyncio import TaskGroup
from collections.abc import Awaitable, Callable, Sequence

import anyio

from chassis.resilience.deadlines import Deadline
from contracts.answer import LookedAtKind
from contracts.domain_router import Domain
from gateway.clients.services import Services
from gateway.planning.latencies import Work
from gateway.planning.prefetch import Prefetch
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Crop, DomainGuess, Draft, Entity, Photo, PhotoText, Query
from gateway.thresholds import Thresholds

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
    question, guess = query.question, DomainGuess()
    if query.history and not query.photo_is_new:  # "and how long is it?" alone seldom tells its domain
        question = f"{query.history[-1].question}\n{question}"[-CLASSIFY_CHARS:]
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


def begin_image_search(
    group: TaskGroup, services: Services, query: Query, run: Run, most: int, *, now: bool = True
) -> Prefetch[tuple[Entity, ...]]:
    """The things that the whole photo shows. Not `now`: searched when the result is first asked for."""
    return run.prefetch(group, lambda: search_whole_photo(services, query, most, run), (), now=now)


SelectEntity = Callable[[Query, Draft, Sequence[Entity], PhotoText, Deadline], Awaitable[Entity | None]]
"""A reasoner's own way to do it."""


async def search_pictures(
    services: Services, crops: Sequence[Crop], count: int, run: Run
) -> tuple[Entity, ...]:
    """Candidates for what pieces of the photo show; none for no pieces."""
    if not crops:
        return ()
    pictures, places = [crop.jpeg for crop in crops], [crop.place for crop in crops]
    size, entities = Work(len(crops)), tuple[Entity, ...]()
    async with run.optional(Stage.CROP_SEARCH), run.stage(Stage.CROP_SEARCH, size) as deadline:
        entities = await services.search_photos(pictures, count, deadline, places)
    run.explain.add_results(Stage.CROP_SEARCH, entities)
    return entities


async def find_crops(services: Services, photo: Photo, labels: Sequence[str], run: Run) -> tuple[Crop, ...]:
    """Regions of the photo, as many as the plan still allows."""
    if not run.plan.crops:
        await run.skip(Stage.CROPPER)
        return ()
    crops: tuple[Crop, ...] = ()
    async with run.optional(Stage.CROPPER), run.stage(Stage.CROPPER) as deadline:
        crops = await services.crop(photo.jpeg, labels, run.plan.crops, deadline)
    for crop in crops:
        run.look_at(LookedAtKind.CROP, crop.place)
    return crops


async def identify(
    select: SelectEntity,
    query: Query,
    draft: Draft,
    candidates: Sequence[Entity],
    photo_text: PhotoText,
    run: Run,
    thresholds: Thresholds,
) -> Entity | None:
    """Return the candidate that the question is about and that is really there (3.4.4).

    Signals: `image_top`, of the most probable candidate, likely or not; `entity_probability`, of the result.
    """
    run.explain.signal("image_top", max((each.probability for each in candidates), default=None))
    run.explain.note(Stage.IMAGE_SEARCH, (f"{each.name} {each.probability:.3f}" for each in candidates))
    likely = fuse(candidates, thresholds)
    size = Work(min(1, len(likely)))  # without candidates no model is asked
    entity = None
    async with run.optional(Stage.SELECT_ENTITY), run.stage(Stage.SELECT_ENTITY, size) as deadline:
        entity = await select(query, draft, likely, photo_text, deadline)
    run.explain.signal("entity_probability", entity.probability if entity else None)
    run.explain.note(Stage.SELECT_ENTITY, entity.name if entity else "none")
    if entity in likely and entity.probability >= thresholds.decisive and query.photo_is_new:
        await run.tell_identified(entity.name)
    return entity


def named_by(query: Query, draft: Draft) -> Entity | None:
    """Return the thing that the draft names, with what the conversation knows of it already.

    A draft that names none goes on about the conversation's, unless there is a new photo.
    """
    remembered = query.remembered
    if draft.entity is None:
        return None if query.photo is not None and query.photo_is_new else remembered
    if remembered is not None and remembered.name == draft.entity:
        return remembered
    return Entity(draft.entity, draft.confidence or 0.0)


def fuse(candidates: Sequence[Entity], thresholds: Thresholds) -> tuple[Entity, ...]:
    """One candidate a name, at its highest probability, those too unlikely dropped, best first."""
    best: dict[str, Entity] = {}
    for candidate in candidates:
        other = best.get(candidate.name)
        if other is None or candidate.probability > other.probability:
            best[candidate.name] = candidate
    likely = (entity for entity in best.values() if entity.probability >= thresholds.same_thing)
    return tuple(sorted(likely, key=lambda entity: -entity.probability))
