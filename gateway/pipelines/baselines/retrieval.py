"""Searching as the published baselines do: what comes is taken in search order, as much as a budget holds."""

from asyncio import TaskGroup
from collections.abc import Sequence

from chassis.resilience.deadlines import Deadline
from contracts.answer import Route
from gateway.clients.services import Services
from gateway.pipelines.baselines.port import BaselineReasoner, Retrieved
from gateway.planning.latencies import Work
from gateway.planning.prefetch import Prefetch
from gateway.planning.run import Run
from gateway.planning.stage_graph import CHARS_A_TOKEN
from gateway.planning.stages import Stage
from gateway.state import Context, Entity, Evidence, PhotoText, Query, Reply
from gateway.steps import evidence
from gateway.steps.conclusion import Outcome, answered, out_of_time
from gateway.steps.photo import begin_reading


def read_for_reader(
    group: TaskGroup, services: Services, query: Query, run: Run, fallback: object | None
) -> Prefetch[PhotoText]:
    """The photo's print, begun at once where the reasoner does not see; a model that does never asks.

    `fallback`: who reads when the model cannot be had; None where the reader is no model to begin with.
    """
    blind = fallback is None or not run.plan.model
    return begin_reading(group, services, query, run, now=blind)


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


async def answer_from_search(
    reasoner: BaselineReasoner,
    fallback: BaselineReasoner | None,
    query: Query,
    found: Retrieved,
    read: Prefetch[PhotoText],
    run: Run,
) -> Reply:
    """One call with all that was found."""
    generation = run.plan.generation
    run.explain.evidence(found.evidence)
    run.keep(out_of_time(query.question, Context(Route.RAG, evidence=tuple(found.evidence))))
    shown = (found.image_chars + found.page_chars) // CHARS_A_TOKEN
    size = Work(extra_prompt_tokens=shown, max_output_tokens=generation.answer_tokens)
    async for reader, may_fail, stage in run.attempts(Stage.ANSWER, reasoner, fallback, size):
        async with may_fail, stage as deadline:
            reply = await reader.answer_from(query, found, read.result, generation, deadline)
    return reply


async def as_answered(
    query: Query,
    reply: Reply,
    route: Route,
    found: Sequence[Evidence],
    read: Prefetch[PhotoText],
    run: Run,
) -> Outcome:
    """The answer as it was said; it may quote what was found and, where somebody read it, the print."""
    read.cancel()  # whoever wanted it has waited for it
    printed = await read.result()
    pieces = (*found, *evidence.photo_evidence(printed))
    context = Context(route, None, printed, pieces)
    return answered(query.question, reply, context, None, run.failures, run.explain)
