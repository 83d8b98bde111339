"""The first look at a photo: what it says and which known thing it shows."""

from collections.abc import Awaitable, Callable

from chassis.deadlines import Deadline
from contracts.domain_router import Domain
from gateway.clients.services import Services
from gateway.state import Ask, Entity, PhotoText

CLASSIFY_MS = 500  # an answer is not worth waiting longer for its label
CLASSIFY_CHARS = 4_096  # what one call takes
NO_CANDIDATES: tuple[Entity, ...] = ()


async def read_text(services: Services, ask: Ask, deadline: Deadline) -> PhotoText:
    """OCR of the photo; nothing when there is none."""
    if ask.photo is None:
        return PhotoText()
    return await services.read_text(ask.photo.jpeg, deadline)


async def search_whole_photo(
    services: Services, ask: Ask, count: int, deadline: Deadline
) -> tuple[Entity, ...]:
    """Candidates for what the whole photo shows."""
    if ask.photo is None:
        return ()
    return await services.search_photos([ask.photo.jpeg], count, deadline)


async def classify_domain(
    services: Services, ask: Ask, read: Callable[[], Awaitable[PhotoText]], deadline: Deadline
) -> Domain:
    """The question's domain; a router that cannot see the photo is told what it says."""
    asked = _with_the_one_before(ask)
    if ask.photo is not None and services.sight.domain_router:
        return await services.classify(asked, "", deadline.within(CLASSIFY_MS), ask.photo.jpeg)
    photo_text = await read()
    return await services.classify(asked, photo_text.plain, deadline.within(CLASSIFY_MS))


def _with_the_one_before(ask: Ask) -> str:
    """A follow-up ("and how long is it?") seldom tells its domain; the question before it does."""
    if ask.photo_is_new or not ask.history:
        return ask.question
    return f"{ask.history[-1].question}\n{ask.question}"[-CLASSIFY_CHARS:]
