"""The image search agent (QA-Dragon, section 3.4): which thing is the question about."""

from collections.abc import Awaitable, Callable, Sequence

from chassis.deadlines import Deadline
from gateway.budget.latencies import Work
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.stages.look import NO_CANDIDATES
from gateway.stages.run import Run
from gateway.state import Ask, Draft, Entity, Photo, PhotoText, Tool
from gateway.thresholds import Depths, Thresholds

NO_CROPS: tuple[bytes, ...] = ()

SelectEntity = Callable[[Ask, Draft, Sequence[Entity], PhotoText, Deadline], Awaitable[Entity | None]]
"""A reasoner's own way to do it."""


async def search_crops(
    services: Services,
    ask: Ask,
    draft: Draft,
    whole: Sequence[Entity],
    run: Run,
    thresholds: Thresholds,
    depths: Depths,
) -> tuple[Entity, ...]:
    """Candidates from crops by the draft's label, up to `depths.crops` of them.

    None when the whole photo was already decisive.
    """
    decisive = any(candidate.probability >= thresholds.decisive for candidate in whole)
    if ask.photo is None or Tool.IMAGE_SEARCH not in draft.tools or decisive or not depths.crops:
        return NO_CANDIDATES
    labels = [draft.object_label] if draft.object_label else []
    crops = await find_crops(services, ask.photo, labels, run)
    if not crops:
        return NO_CANDIDATES
    return await run.optional(
        Stage.CROP_SEARCH,
        services.search_photos,
        crops,
        depths.image_hits,
        otherwise=NO_CANDIDATES,
        size=Work(len(crops)),
    )


async def find_crops(services: Services, photo: Photo, labels: Sequence[str], run: Run) -> tuple[bytes, ...]:
    """Regions of the photo, as many as the plan still allows."""
    if not run.plan.crops:
        await run.skip(Stage.CROPPER)
        return NO_CROPS
    return await run.optional(
        Stage.CROPPER, services.crop, photo.jpeg, labels, run.plan.crops, otherwise=NO_CROPS
    )


async def identify(
    select: SelectEntity,
    ask: Ask,
    draft: Draft,
    candidates: Sequence[Entity],
    photo_text: PhotoText,
    run: Run,
    thresholds: Thresholds,
) -> Entity | None:
    """The candidate that the question is about and that is really there (3.4.4).

    Signals: `image_top`, of the most probable candidate, likely or not; `entity_probability`, of the chosen.
    """
    run.explain.signal("image_top", max((each.probability for each in candidates), default=None))
    run.explain.note(Stage.IMAGE_SEARCH, (f"{each.name} {each.probability:.3f}" for each in candidates))
    likely = fuse(candidates, thresholds)
    size = Work(min(1, len(likely)))  # without candidates no model is asked
    chosen = await run.optional(
        Stage.SELECT_ENTITY, select, ask, draft, likely, photo_text, otherwise=None, size=size
    )
    run.explain.signal("entity_probability", chosen.probability if chosen else None)
    run.explain.note(Stage.SELECT_ENTITY, chosen.name if chosen else "none")
    return chosen


def named_by(ask: Ask, draft: Draft) -> Entity | None:
    """The thing that the draft names, with what the conversation knows of it already.

    A draft that names none goes on about the conversation's, unless there is a new photo.
    """
    known = ask.remembered
    if draft.entity is None:
        return None if ask.photo is not None and ask.photo_is_new else known
    if known is not None and known.name == draft.entity:
        return known
    return Entity(draft.entity, draft.confidence)


def fuse(candidates: Sequence[Entity], thresholds: Thresholds) -> tuple[Entity, ...]:
    """One candidate a name, at its highest probability, those too unlikely dropped, best first."""
    best: dict[str, Entity] = {}
    for candidate in candidates:
        known = best.get(candidate.name)
        if known is None or candidate.probability > known.probability:
            best[candidate.name] = candidate
    likely = (entity for entity in best.values() if entity.probability >= thresholds.same_thing)
    return tuple(sorted(likely, key=lambda entity: -entity.probability))
