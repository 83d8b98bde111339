"""Every pipeline that the gateway offers, put together."""

from collections.abc import Iterator

from gateway.clients.services import Services
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline
from gateway.pipelines.port import Pipeline
from gateway.planning.stages import Stage
from gateway.reasoners import PaperModel, Reasoners
from gateway.steps.routing import SearchRouter
from gateway.thresholds import LITE_LIMITS, RetrievalLimits, Thresholds


def every_pipeline(
    services: Services, reasoners: Reasoners, thresholds: Thresholds, router: SearchRouter
) -> dict[str, Pipeline]:
    """Return the pipelines by name: the default one and, if there is a model, the published ones."""
    retrieval = RetrievalLimits() if reasoners.fallback is not None else LITE_LIMITS
    reasoner, fallback = reasoners.reasoner, reasoners.fallback
    pipelines: list[Pipeline] = [
        LoreglassPipeline(services, reasoner, thresholds, retrieval, router, fallback)
    ]
    if reasoners.for_papers is not None:
        pipelines += _of_papers(services, reasoners.for_papers, thresholds, router)
    return {pipeline.name: pipeline for pipeline in pipelines}


def _of_papers(
    services: Services, model: PaperModel, thresholds: Thresholds, router: SearchRouter
) -> Iterator[Pipeline]:
    # Imported here: what reads a model's replies takes time to import, and is for gateways with a model.
    from gateway.pipelines.baselines.model import VlmBaselines
    from gateway.pipelines.baselines.pipeline import (
        COT,
        TASKS,
        ClosedBookPipeline,
        CragMmPipeline,
        DirectRagPipeline,
    )
    from gateway.pipelines.qa_dragon.model import StepwiseVlmReasoner
    from gateway.pipelines.qa_dragon.pipeline import QaDragonPipeline
    from gateway.pipelines.three_step.model import ThreeStepVlmReasoner
    from gateway.pipelines.three_step.pipeline import ThreeStepPipeline
    from gateway.pipelines.wiki_prf.model import WikiPrfVlmReasoner
    from gateway.pipelines.wiki_prf.pipeline import WikiPrfPipeline

    client, options, retrieval = model.client, model.options, RetrievalLimits()
    baselines = VlmBaselines(client, options)
    yield QaDragonPipeline(services, StepwiseVlmReasoner(client, options), thresholds, retrieval, router)
    yield ThreeStepPipeline(services, ThreeStepVlmReasoner(client, options), thresholds)
    yield WikiPrfPipeline(services, WikiPrfVlmReasoner(client, options), thresholds)
    yield ClosedBookPipeline(baselines.answer_alone)
    yield ClosedBookPipeline(baselines.answer_in_steps, "cot", COT, Stage.DRAFT)
    yield DirectRagPipeline(services, baselines, retrieval)
    yield from (CragMmPipeline(services, baselines, task) for task in TASKS)
