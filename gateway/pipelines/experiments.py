"""What an experiment changes of a pipeline, for one question: cut-offs, and modules that are left out."""

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
    match pipeline:
        case LoreglassPipeline():
            _require_known(missing, loreglass.MODULES)
            return loreglass.without(pipeline, missing)
        case QaDragonPipeline():
            _require_known(missing, qa_dragon.MODULES)
            return qa_dragon.without(pipeline, missing)
        case ThreeStepPipeline():
            _require_known(missing, three_step.MODULES)
            return three_step.without(pipeline, missing)
        case WikiPrfPipeline():
            _require_known(missing, wiki_prf.MODULES)
            return wiki_prf.without(pipeline, missing)
        case DirectRagPipeline():
            _require_known(missing, direct_rag.MODULES)
            return direct_rag.without(pipeline, missing)
        case _:
            raise InvalidRequest("experiment.without: this pipeline has no modules that can be left out.")


def _require_known(missing: frozenset[str], modules: frozenset[str]) -> None:
    unknown = sorted(missing - modules)
    if unknown:
        known = ", ".join(sorted(modules))
        raise InvalidRequest(
            f"experiment.without: there is no module {unknown[0][:40]!r}; there are: {known}."
        )
