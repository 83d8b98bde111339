"""What an experiment changes of a pipeline, for one question: cut-offs, and modules that are left out."""

from chassis.errors import InvalidRequest
from contracts.answer import Experiment
from gateway.pipelines.port import Ablatable, Pipeline, Tunable


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
    if not isinstance(pipeline, Ablatable):
        raise InvalidRequest("experiment.without: this pipeline has no modules that can be left out.")
    unknown = sorted(missing - pipeline.modules)
    if unknown:
        known = ", ".join(sorted(pipeline.modules))
        raise InvalidRequest(
            f"experiment.without: there is no module {unknown[0][:40]!r}; there are: {known}."
        )
    return pipeline.without(missing)
