"""What services find out about the photo beside other stages: when they begin, and whether they ever do."""

from anyio.abc import TaskGroup

from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.reasoning.sighting import Sighting
from gateway.stages.look import NO_CANDIDATES, read_text, search_whole_photo
from gateway.stages.run import Ahead, Run
from gateway.state import Ask, PhotoText


def begin_reading(
    group: TaskGroup, services: Services, ask: Ask, run: Run, *, now: bool = True, ever: bool = True
) -> Ahead[PhotoText]:
    """The photo's print. Not `now`: read when somebody asks for it; not `ever`: who asks is told of none."""
    read = run.ahead(group, Stage.OCR, read_text, services, ask, otherwise=PhotoText(), now=now and ever)
    if not ever:
        read.cancel()
    return read


async def begin_sighting(
    group: TaskGroup, services: Services, ask: Ask, run: Run, most_things: int, *, sees: bool
) -> Sighting:
    """Image search by the whole photo, and its print when somebody asks for it.

    A reasoner that does not see the photo begins with what both have found.
    """
    read = begin_reading(group, services, ask, run, now=not sees)
    things = run.ahead(
        group, Stage.IMAGE_SEARCH, search_whole_photo, services, ask, most_things, otherwise=NO_CANDIDATES
    )
    sighting = Sighting(ask, read.result, things.result)
    if not sees:
        await sighting.services_done()
    return sighting
