"""The image search agent (QA-Dragon, section 3.4): which thing is the question about."""

from collections.abc import Sequence

from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.reasoning.port import Reasoner
from gateway.stages.look import NO_CANDIDATES
from gateway.stages.run import Run
from gateway.state import Ask, Draft, Entity, PhotoText, Tool
from gateway.thresholds import Depths, Thresholds

NO_CROPS: tuple[bytes, ...] = ()


async def search_crops(
    services: Services,
    ask: Ask,
    draft: Draft,
    whole: Sequence[Entity],
    run: Run,
    thresholds: Thresholds,
    depths: Depths,
) -> tuple[Entity, ...]:
    """Candidates from crops by the draft's label; none when the whole photo was already decisive."""
    decisive = any(candidate.probability >= thresholds.decisive for candidate in whole)
    if ask.photo is None or Tool.IMAGE_SEARCH not in draft.tools or decisive:
        return NO_CANDIDATES
    labels = [draft.object_label] if draft.object_label else []
    crops = await run.optional(
        Stage.CROPPER, services.crop, ask.photo.jpeg, labels, depths.crops, otherwise=NO_CROPS
    )
    if not crops:
        return NO_CANDIDATES
    return await run.optional(
        Stage.CROP_SEARCH, services.search_photos, crops, depths.image_hits, otherwise=NO_CANDIDATES
    )


async def identify(
    reasoner: Reasoner,
    ask: Ask,
    draft: Draft,
    candidates: Sequence[Entity],
    photo_text: PhotoText,
    run: Run,
    thresholds: Thresholds,
) -> Entity | None:
    """The candidate that the question is about and that is really there (3.4.4)."""
    likely = _fuse(candidates, thresholds)
    return await run.optional(
        Stage.SELECT_ENTITY, reasoner.select_entity, ask, draft, likely, photo_text, otherwise=None
    )


def _fuse(candidates: Sequence[Entity], thresholds: Thresholds) -> tuple[Entity, ...]:
    """One candidate a name, at its highest probability, those too unlikely dropped, best first."""
    best: dict[str, Entity] = {}
    for candidate in candidates:
        known = best.get(candidate.name)
        if known is None or candidate.probability > known.probability:
            best[candidate.name] = candidate
    likely = (entity for entity in best.values() if entity.probability >= thresholds.same_thing)
    return tuple(sorted(likely, key=lambda entity: -entity.probability))
