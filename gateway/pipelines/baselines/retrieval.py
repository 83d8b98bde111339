"""Searching as the published baselines do: what comes is taken in search order, as much as a budget holds."""

from collections.abc import Sequence

from chassis.resilience.deadlines import Deadline
from contracts.answer import Route
from gateway.clients.services import Services
from gateway.pipelines.baselines.model import VlmBaselines
from gateway.pipelines.baselines.retrieved import Retrieved
from gateway.planning.latencies import Work
from gateway.planning.run import Run
from gateway.planning.stage_graph import CHARS_A_TOKEN
from gateway.planning.stages import Stage
from gateway.state import Context, Entity, Evidence, Query
from gateway.steps import evidence
from gateway.steps.conclusion import Outcome, answered, out_of_time


def known_things(hits: Sequence[Entity], run: Run, similar_from: float = 0.0) -> Retrieved:
    """What image search found and is alike enough, with the attributes of each as sentences, in its order.

    `similar_from`: a cosine; of a hit without one, a probability. Signal: `image_top`, the highest
    probability, alike enough or not.
    """
    things = tuple(hit for hit in hits if _likeness(hit) >= similar_from)
    run.explain.signal("image_top", max((hit.probability for hit in hits), default=None))
    run.explain.note(Stage.IMAGE_SEARCH, (f"{thing.name} {thing.probability:.3f}" for thing in things))
    return Retrieved(things=things, records=evidence.attributes_of(things))


def _likeness(hit: Entity) -> float:
    return hit.probability if hit.cosine is None else hit.cosine


async def search_snippets(
    services: Services, query: str, pages: int, deadline: Deadline
) -> tuple[Evidence, ...]:
    """The best passage of each of `pages` pages, whole; the service tells pages apart before it counts."""
    found = await services.search_pages((query,), pages, deadline)
    return evidence.in_search_order([evidence.passage_evidence(passage) for passage in found])


async def answer_from_search(reasoner: VlmBaselines, query: Query, found: Retrieved, run: Run) -> Outcome:
    """Return what one call makes of all that was found, as it was said."""
    generation = run.plan.generation
    context = Context(Route.RAG, evidence=found.evidence)
    run.explain.evidence(found.evidence)
    run.keep(out_of_time(query.question, context))
    shown = (found.image_chars + found.page_chars) // CHARS_A_TOKEN
    size = Work(extra_prompt_tokens=shown, max_output_tokens=generation.answer_tokens)
    async with run.required(Stage.ANSWER, size) as deadline:
        reply = await reasoner.answer_from(query, found, generation, deadline)
    return answered(query.question, reply, context, None, run.failures, run.explain)
