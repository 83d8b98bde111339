"""The visual toolchain (QA-Dragon, section 3.4): objects, the one meant, its regions, their search."""

from collections.abc import Sequence

from gateway.budget.latencies import Work
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.reasoning.port import StepwiseReasoner
from gateway.stages.identify import NO_CROPS, find_crops
from gateway.stages.look import NO_CANDIDATES
from gateway.stages.run import Run
from gateway.state import Ask, Entity
from gateway.thresholds import Depths

NO_LABELS: tuple[str, ...] = ()


async def list_objects(reasoner: StepwiseReasoner, ask: Ask, run: Run) -> Sequence[str]:
    """Labels of what is there (3.4.1); none when the plan has no time for crops, which they are for."""
    if not run.plan.crops:
        await run.skip(Stage.OBJECT_LIST)
        return NO_LABELS
    labels = await run.optional(Stage.OBJECT_LIST, reasoner.list_objects, ask, otherwise=NO_LABELS)
    run.explain.note(Stage.OBJECT_LIST, labels)
    return labels


async def select_object(
    reasoner: StepwiseReasoner, ask: Ask, labels: Sequence[str], run: Run
) -> Sequence[str]:
    """The label of the thing that the question is about; all of them if none was selected (3.4.1)."""
    if not labels:
        return NO_LABELS
    selected = await run.optional(Stage.OBJECT_SELECTION, reasoner.select_object, ask, labels, otherwise=None)
    run.explain.note(Stage.OBJECT_SELECTION, selected or "none")
    return labels if selected is None else (selected,)


async def search_regions(
    services: Services, ask: Ask, labels: Sequence[str], run: Run, depths: Depths
) -> tuple[Entity, ...]:
    """Candidates from the regions that bear the labels, and from the full photo beside them (3.4.2, 3.4.3).

    The paper searches the regions alone; the full photo costs one more picture in the same call, and is
    what remains when no region is found.
    """
    if ask.photo is None:
        return NO_CANDIDATES
    crops = await find_crops(services, ask.photo, labels, run) if labels else NO_CROPS
    pictures = (*crops, ask.photo.jpeg)
    return await run.optional(
        Stage.IMAGE_SEARCH,
        services.search_photos,
        pictures,
        depths.image_hits,
        otherwise=NO_CANDIDATES,
        size=Work(len(pictures)),
    )
