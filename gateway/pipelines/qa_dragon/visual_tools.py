"""The visual toolchain (QA-Dragon, section 3.4): objects, the one meant, its regions, their search."""

from collections.abc import Sequence

from gateway.clients.services import Services
from gateway.pipelines.qa_dragon.port import StepwiseReasoner
from gateway.planning.latencies import Work
from gateway.planning.run import Run
from gateway.planning.stages import Stage
from gateway.state import Entity, Query
from gateway.steps.identify import find_crops
from gateway.thresholds import RetrievalLimits


async def list_objects(reasoner: StepwiseReasoner, query: Query, run: Run) -> Sequence[str]:
    """Labels of what is there (3.4.1); none when the plan has no time for crops, which they are for."""
    if not run.plan.crops:
        await run.skip(Stage.OBJECT_LIST)
        return ()
    labels: Sequence[str] = ()
    async with run.optional(Stage.OBJECT_LIST), run.stage(Stage.OBJECT_LIST) as deadline:
        labels = await reasoner.list_objects(query, deadline)
    run.explain.note(Stage.OBJECT_LIST, labels)
    return labels


async def select_object(
    reasoner: StepwiseReasoner, query: Query, labels: Sequence[str], run: Run
) -> Sequence[str]:
    """The label of the thing that the question is about; all of them if none was selected (3.4.1)."""
    if not labels:
        return ()
    selected = None
    async with run.optional(Stage.OBJECT_SELECTION), run.stage(Stage.OBJECT_SELECTION) as deadline:
        selected = await reasoner.select_object(query, labels, deadline)
    run.explain.note(Stage.OBJECT_SELECTION, selected or "none")
    return labels if selected is None else (selected,)


async def search_regions(
    services: Services, query: Query, labels: Sequence[str], run: Run, retrieval: RetrievalLimits
) -> tuple[Entity, ...]:
    """Candidates from the regions that bear the labels, and from the full photo beside them (3.4.2, 3.4.3).

    The paper searches the regions alone; the full photo costs one more picture in the same call, and is
    what remains when no region is found.
    """
    if query.photo is None:
        return ()
    crops = await find_crops(services, query.photo, labels, run) if labels else ()
    pictures = (*crops, query.photo.jpeg)
    size, found = Work(len(pictures)), tuple[Entity, ...]()
    async with run.optional(Stage.IMAGE_SEARCH), run.stage(Stage.IMAGE_SEARCH, size) as deadline:
        found = await services.search_photos(pictures, retrieval.image_hits, deadline)
    run.explain.found(Stage.IMAGE_SEARCH, found)
    return found
