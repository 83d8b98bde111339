"""Every pipeline that the gateway offers, put together."""

from collections.abc import Iterator

from gateway.clients.services import Services
from gateway.pipelines.baselines.closed_book import COT, ClosedBookPipeline
from gateway.pipelines.baselines.crag_mm import TASKS, CragMmPipeline
from gateway.pipelines.baselines.direct_rag import DirectRagPipeline
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline
from gateway.pipelines.port import Pipeline
from gateway.pipelines.qa_dragon.pipeline import QaDragonPipeline
from gateway.pipelines.three_step.pipeline import ThreeStepPipeline
from gateway.pipelines.wiki_prf.pipeline import WikiPrfPipeline
from gateway.planning.stages import Stage
from gateway.reasoners import Reasoners
from gateway.steps.routing import SearchRouter
from gateway.thresholds import LITE_LIMITS, RetrievalLimits, Thresholds


def every_pipeline(
    services: Services, reasoners: Reasoners, thresholds: Thresholds, router: SearchRouter
) -> dict[str, Pipeline]:
    """Every pipeline by its name: the default one, QA-Dragon, and the other published ones."""
    fallback = reasoners.fallback
    retrieval = RetrievalLimits() if fallback is not None else LITE_LIMITS
    papers: list[Pipeline] = [
        LoreglassPipeline(
            services=services,
            reasoner=reasoners.few_hops,
            thresholds=thresholds,
            retrieval=retrieval,
            router=router,
            fallback=fallback.few_hops if fallback else None,
        ),
        QaDragonPipeline(
            services=services,
            reasoner=reasoners.stepwise,
            thresholds=thresholds,
            retrieval=retrieval,
            router=router,
            fallback=fallback.stepwise if fallback else None,
        ),
        ThreeStepPipeline(
            services, reasoners.three_step, thresholds, fallback.three_step if fallback else None
        ),
        WikiPrfPipeline(services, reasoners.wiki_prf, thresholds, fallback.wiki_prf if fallback else None),
    ]
    pipelines = (*papers, *_baselines(services, reasoners, retrieval))
    return {pipeline.name: pipeline for pipeline in pipelines}


def _baselines(services: Services, reasoners: Reasoners, retrieval: RetrievalLimits) -> Iterator[Pipeline]:
    """What was published beside the full systems; `cot` only with a model, which reasons step by step."""
    reader, fallback = reasoners.baselines, reasoners.fallback.baselines if reasoners.fallback else None
    alone = fallback.answer_alone if fallback else None
    yield ClosedBookPipeline(services, reader.answer_alone, alone)
    if reasoners.in_steps is not None:
        in_steps = reasoners.in_steps.answer_in_steps
        yield ClosedBookPipeline(services, in_steps, alone, "cot", COT, Stage.DRAFT)
    yield DirectRagPipeline(services, reader, retrieval, fallback)
    yield from (CragMmPipeline(services, reader, task, fallback) for task in TASKS)
