"""Wiki-PRF's tools on our services: what each makes of the photo, and the articles found by it (3.2, 3.3)."""

from collections.abc import Sequence
from dataclasses import replace

import anyio.to_thread
from PIL import ImageOps

from chassis.deadlines import Deadline
from chassis.images import ImageLimits, encoded, upright_rgb
from gateway.budget.latencies import Work
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.stages import evidence
from gateway.stages.identify import find_crops
from gateway.stages.look import NO_CANDIDATES
from gateway.stages.run import Run
from gateway.state import Ask, Entity, Evidence, Photo

MOST_ARTICLES = 5
MOST_SECTIONS = 3
"""Of each tool, at most: the paper's best settings (tables 14 and 15)."""

_LABEL_CHARS = 100  # what the cropper takes
_QUALITY = 92
_LIMITS = ImageLimits()


async def article(services: Services, things: Sequence[Entity], run: Run) -> tuple[Evidence, ...]:
    """What is known of the things: their attributes, and the passages that their names find; in chunks."""
    if not things:
        return ()
    names = tuple(dict.fromkeys(thing.name for thing in things))
    return (*entity_texts(things), *await evidence.find_pages(services, names, run))


async def described(services: Services, description: str, run: Run) -> tuple[Evidence, ...]:
    """Captioning: sections of the articles that a description finds."""
    hits = min(MOST_ARTICLES, run.plan.text_hits)
    return await run.optional(
        Stage.TEXT_SEARCH,
        evidence.search_pages,
        services,
        (description,),
        hits,
        otherwise=evidence.NO_EVIDENCE,
    )


async def grounded(
    services: Services, photo: Photo, label: str, whole: tuple[Entity, ...], run: Run
) -> tuple[Entity, ...]:
    """Grounding: things like the best region that bears the label; like the full photo if there is none."""
    crops = await find_crops(services, photo, (label[:_LABEL_CHARS],), run)
    return await _like(services, crops[0], run) if crops else whole


async def flipped(services: Services, photo: Photo, run: Run) -> tuple[Entity, ...]:
    """Flipping: things like the photo's mirror image."""

    async def search(deadline: Deadline) -> tuple[Entity, ...]:
        mirror = await anyio.to_thread.run_sync(mirrored, photo.jpeg, abandon_on_cancel=True)
        return await services.search_photos((mirror,), MOST_ARTICLES, deadline)

    return await run.optional(Stage.CROP_SEARCH, search, otherwise=NO_CANDIDATES, size=Work(1))


async def best_sections(
    services: Services, ask: Ask, query: str, chunks: Sequence[Evidence], run: Run
) -> tuple[Evidence, ...]:
    """The sections most similar to `query`, most similar first."""
    if not chunks:
        return ()
    ranked = await evidence.rank_chunks(services, evidence.Inquiry(query, (), None, ask.photo), chunks, run)
    return tuple(sorted(ranked, key=lambda item: -item.score)[:MOST_SECTIONS])


def entity_texts(things: Sequence[Entity]) -> tuple[Evidence, ...]:
    """The attributes of things that images show, in their order."""
    return tuple(
        replace(item, score=thing.probability)
        for thing in things
        for item in evidence.attribute_evidence(thing)
    )


def mirrored(jpeg: bytes) -> bytes:
    """The photo turned left to right. Raises `CorruptImage`. Blocking."""
    return encoded(ImageOps.mirror(upright_rgb(jpeg, _LIMITS, None)), _QUALITY)


async def _like(services: Services, picture: bytes, run: Run) -> tuple[Entity, ...]:
    return await run.optional(
        Stage.CROP_SEARCH,
        services.search_photos,
        (picture,),
        MOST_ARTICLES,
        otherwise=NO_CANDIDATES,
        size=Work(1),
    )
