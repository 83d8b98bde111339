"""The image search agent (QA-Dragon, section 3.4): which thing is the question about."""

from collections.abc import Awaitable, Callable, Sequence

from chassis.resilience.deadlines import Deadline
from contracts.answer import LookedAtKind
from gateway.clients.services import Services
from gateway.planning.latencies import Work
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Crop, Draft, Entity, Photo, PhotoText, Query
from gateway.thresholds import Thresholds

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

    Signals: `image_top`, of the most probable candidate, likely or not; `entity_probability`, of the chosen.
    """
    run.explain.signal("image_top", max((each.probability for each in candidates), default=None))
    run.explain.note(Stage.IMAGE_SEARCH, (f"{each.name} {each.probability:.3f}" for each in candidates))
    likely = fuse(candidates, thresholds)
    size = Work(min(1, len(likely)))  # without candidates no model is asked
    chosen = None
    async with run.optional(Stage.SELECT_ENTITY), run.stage(Stage.SELECT_ENTITY, size) as deadline:
        chosen = await select(query, draft, likely, photo_text, deadline)
    run.explain.signal("entity_probability", chosen.probability if chosen else None)
    run.explain.note(Stage.SELECT_ENTITY, chosen.name if chosen else "none")
    if chosen in likely and chosen.probability >= thresholds.decisive and query.photo_is_new:
        await run.tell_identified(chosen.name)
    return chosen


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
