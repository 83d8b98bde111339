"""Searching as the published baselines do: what comes is taken in search order, as much as a budget holds."""

from collections.abc import Sequence
from dataclasses import replace

from anyio.abc import TaskGroup

from chassis.deadlines import Deadline
from contracts.answer import CitationKind, Route
from gateway.budget.course import CHARS_A_TOKEN
from gateway.budget.latencies import Work
from gateway.budget.stages import Stage
from gateway.clients.services import Services
from gateway.reasoning.baselines import BaselineReasoner, Retrieved
from gateway.stages import evidence
from gateway.stages.conclusion import Outcome, answered
from gateway.stages.reading import begin_reading
from gateway.stages.run import Ahead, Run
from gateway.state import Ask, Entity, Evidence, Findings, PhotoText, Reply


def read_for_reader(
    group: TaskGroup, services: Services, ask: Ask, run: Run, resort: object | None
) -> Ahead[PhotoText]:
    """The photo's print, begun at once where whoever reads cannot see; a model that sees never asks for it.

    `resort`: who reads when the model cannot be had; None where the reader is no model to begin with.
    """
    blind = resort is None or not run.plan.model
    return begin_reading(group, services, ask, run, now=blind)


def known_things(hits: Sequence[Entity], run: Run, similar_from: float = 0.0) -> Retrieved:
    """What image search found and is alike enough, with the attributes of each as sentences, in its order.

    Signal: `image_top`, the highest probability, alike enough or not.
    """
    things = tuple(hit for hit in hits if hit.probability >= similar_from)
    run.explain.signal("image_top", max((hit.probability for hit in hits), default=None))
    run.explain.note(Stage.IMAGE_SEARCH, (f"{thing.name} {thing.probability:.3f}" for thing in things))
    records = (
        replace(piece, score=thing.probability)
        for thing in things
        for piece in evidence.attribute_evidence(thing)
    )
    return Retrieved(things=things, records=tuple(records))


async def search_snippets(
    services: Services, query: str, pages: int, deadline: Deadline
) -> tuple[Evidence, ...]:
    """The best passage of each of `pages` pages, whole; the service tells pages apart before it counts."""
    found = await services.search_pages((query,), pages, deadline)
    snippets = (
        Evidence(
            evidence.readable(passage.text),
            passage.title,
            passage.url,
            CitationKind.PAGE,
            last_modified=passage.last_modified,
        )
        for passage in found
    )
    return evidence.in_search_order(tuple(snippets))


async def answer_from_search(
    reasoner: BaselineReasoner,
    resort: BaselineReasoner | None,
    ask: Ask,
    found: Retrieved,
    read: Ahead[PhotoText],
    run: Run,
) -> Reply:
    """One call with all that was found."""
    effort = run.plan.effort
    run.explain.evidence(found.evidence)
    shown = (found.image_chars + found.page_chars) // CHARS_A_TOKEN
    return await run.or_resort(
        Stage.ANSWER,
        reasoner.answer_from,
        resort.answer_from if resort else None,
        ask,
        found,
        read.result,
        effort,
        size=Work(extra_prompt_tokens=shown, max_output_tokens=effort.answer_tokens),
    )


async def as_answered(
    reply: Reply, route: Route, found: Sequence[Evidence], read: Ahead[PhotoText], run: Run
) -> Outcome:
    """The answer as it was said; it may quote what was found and, where somebody read it, the print."""
    read.cancel()  # whoever wanted it has waited for it
    printed = await read.result()
    pieces = (*found, *evidence.photo_evidence(printed))
    findings = Findings(route, None, printed, pieces)
    return answered(reply, findings, None, run.failures.values(), run.explain)
