"""Wiki-PRF's tools on our services: what each makes of the photo, and the articles found by it (3.2, 3.3)."""

from collections.abc import Sequence
from dataclasses import replace

import anyio.to_thread
from PIL import ImageOps

from chassis.images import ImageLimits, encode_picture, upright_rgb
from gateway.clients.services import Services
from gateway.pipelines.wiki_prf.tool_plan import PhotoTool
from gateway.planning.latencies import Work
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Entity, Evidence, Photo, Query
from gateway.steps import evidence
from gateway.steps.identify import find_crops, search_pictures

MOST_ARTICLES = 5
MOST_SECTIONS = 3
"""Of each tool, at most: the paper's best settings (tables 14 and 15)."""

_MOST_PASSAGES = 200
"""Of the articles that a tool finds."""
_LABEL_CHARS = 100  # what the cropper takes
_QUALITY = 92
_LIMITS = ImageLimits()


async def article(services: Services, things: Sequence[Entity], run: Run) -> tuple[Evidence, ...]:
    """Return what is known of the things: their attributes and their whole articles, in chunks.

    An article is the page at the address of the thing's record. If the index holds no such page, it is what
    the thing's name finds.
    """
    if not things:
        return ()
    pages = await _whole_pages(services, things, run)
    read = {page.url for page in pages}
    names = tuple(dict.fromkeys(thing.name for thing in things if thing.url not in read))
    passages = await evidence.find_pages(services, names, run) if names else ()
    return (*evidence.attributes_of(things), *pages, *passages)


async def _whole_pages(services: Services, things: Sequence[Entity], run: Run) -> tuple[Evidence, ...]:
    addresses = tuple(dict.fromkeys(thing.url for thing in things if thing.url))
    pages: tuple[Evidence, ...] = ()
    if addresses:
        async with run.optional(Stage.TEXT_SEARCH), run.stage(Stage.TEXT_SEARCH) as deadline:
            passages = await services.read_pages(addresses, _MOST_PASSAGES, deadline)
            pages = evidence.chunks_of(passages)
        run.explain.add_results(Stage.TEXT_SEARCH, pages)
    return pages


async def caption_articles(
    services: Services, description: str, run: Run, articles: int
) -> tuple[Evidence, ...]:
    """Captioning: articles of the things whose pictures a description finds (3.3); of those whose texts it
    finds, where image search takes no texts or finds no picture.
    """
    things: tuple[Entity, ...] = ()
    if await services.takes("image_search", "text", run.deadline):
        async with run.optional(Stage.CROP_SEARCH), run.stage(Stage.CROP_SEARCH, Work(1)) as deadline:
            things = await services.search_photos_by_text((description,), articles, deadline)
        run.explain.add_results(Stage.CROP_SEARCH, things)
    if things:
        run.explain.note(Stage.CROP_SEARCH, (f"{PhotoTool.CAPTION}: {thing.name}" for thing in things))
        return await article(services, things, run)
    hits, passages = min(articles, run.plan.text_hits), tuple[Evidence, ...]()
    async with run.optional(Stage.TEXT_SEARCH), run.stage(Stage.TEXT_SEARCH) as deadline:
        passages = await evidence.search_pages(services, (description,), hits, deadline)
    run.explain.add_results(Stage.TEXT_SEARCH, passages)
    return passages


async def ground(
    services: Services,
    photo: Photo,
    label: str,
    whole: tuple[Entity, ...],
    run: Run,
    articles: int,
) -> tuple[Entity, ...]:
    """Grounding: things like the best region that bears the label; like the full photo if there is none."""
    crops = await find_crops(services, photo, (label[:_LABEL_CHARS],), run)
    return await search_pictures(services, crops[:1], articles, run) if crops else whole[:articles]


async def flip(photo: Photo) -> Photo:
    """Return the photo's mirror image. Raises `CorruptImage`."""
    mirror = await anyio.to_thread.run_sync(mirror_jpeg, photo.jpeg, abandon_on_cancel=True)
    return replace(photo, jpeg=mirror, digest=f"{photo.digest}-mirrored")


async def best_sections(
    services: Services,
    query: Query,
    text: str,
    chunks: Sequence[Evidence],
    run: Run,
    sections: int,
) -> tuple[Evidence, ...]:
    """Return the sections most similar to `text`, most similar first."""
    if not chunks:
        return ()
    ranked = await evidence.rank_chunks(services, text, chunks, run, photo=query.photo)
    return tuple(sorted(ranked, key=lambda item: -item.score)[:sections])


def mirror_jpeg(jpeg: bytes) -> bytes:
    """Return the photo turned left to right. Raises `CorruptImage`. Blocking."""
    return encode_picture(ImageOps.mirror(upright_rgb(jpeg, _LIMITS, None)), _QUALITY)
