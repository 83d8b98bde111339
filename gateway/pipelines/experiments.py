"""What an experiment changes of a pipeline, for one question: cut-offs, and modules that are left out."""

from types import ModuleType

from chassis.errors import InvalidRequest
from contracts.answer import Experiment
from gateway.pipelines.baselines import ablation as direct_rag
from gateway.pipelines.baselines.direct_rag import DirectRagPipeline
from gateway.pipelines.loreglass import ablation as loreglass
from gateway.pipelines.loreglass.pipeline import LoreglassPipeline
from gateway.pipelines.port import Pipeline, Tunable
from gateway.pipelines.qa_dragon import ablation as qa_dragon
from gateway.pipelines.qa_dragon.pipeline import QaDragonPipeline
from gateway.pipelines.three_step import ablation as three_step
from gateway.pipelines.three_step.pipeline import ThreeStepPipeline
from gateway.pipelines.wiki_prf import ablation as wiki_prf
from gateway.pipelines.wiki_prf.pipeline import WikiPrfPipeline

_ABLATIONS: tuple[tuple[type, ModuleType], ...] = (
    (LoreglassPipeline, loreglass),
    (QaDragonPipeline, qa_dragon),
    (ThreeStepPipeline, three_step),
    (WikiPrfPipeline, wiki_prf),
    (DirectRagPipeline, direct_rag),
)
"""Whose modules can be left out, and the room that names them (`MODULES`) and does it (`without`)."""


def varied(pipeline: Pipeline, experiment: Experiment | None) -> Pipeline:
    """The pipeline as the experiment wants it. Raises `InvalidRequest`, which names what is wrong with it."""
    if experiment is None:
        return pipeline
    if experiment.thresholds:
        pipeline = _tuned(pipeline, experiment.thresholds)
    return _without(pipeline, frozenset(experiment.without)) if experiment.without else pipeline


def _tuned(pipeline: Pipeline, thresholds: dict[str, float]) -> Pipeline:
    if not isinstance(pipeline, Tunable):
        raise InvalidRequest("experiment.thresholds: this pipeline has none.")
    try:
        return pipeline.using(pipeline.thresholds.with_overrides(thresholds))
    except ValueError as error:
        raise InvalidRequest(f"experiment.thresholds: {error}.") from error


def _without(pipeline: Pipeline, missing: frozenset[str]) -> Pipeline:
    for kind, ablation in _ABLATIONS:
        if isinstance(pipeline, kind):
            _require_known(missing, ablation.MODULES)
            ablated: Pipeline = ablation.without(pipeline, missing)
            return ablated
    raise InvalidRequest("experiment.without: this pipeline has no modules that can be left out.")


def _require_known(missing: frozenset[str], modules: frozenset[str]) -> None:
    unknown = sorted(missing - modules)
    if unknown:
        known = ", ".join(sorted(modules))
        raise InvalidRequest(
            f"experiment.without: there is no module {unknown[0][:40]!r}; there are: {known}."
        )
