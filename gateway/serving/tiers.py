"""The tiers that questions are admitted to: the full one and, with a model, one that works without it."""

from dataclasses import dataclass

from chassis.http.health import Note
from gateway.pipelines.loreglass.pipeline import STAGE_GRAPH as LOREGLASS
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import load_latencies
from gateway.planning.plan import Plan
from gateway.planning.planner import Planner
from gateway.planning.stages import deadline_advice
from gateway.serving.admission import Admission
from gateway.serving.metrics import GatewayMetrics
from gateway.settings import GatewaySettings, Reasoning
from gateway.state import GenerationBudget
from gateway.steps.answering import spared_stages
from gateway.thresholds import LITE_LIMITS, RetrievalLimits


@dataclass(frozen=True, slots=True)
class Tier:
    """A queue, and the planner of the questions that it admits."""

    admission: Admission
    planner: Planner

    def deadline_note(self, settings: GatewaySettings, sees_photos: bool) -> Note:
        """Return advice if the model is slower than callers wait, for readiness; the gateway stays ready."""
        spared = spared_stages(sees_photos=sees_photos)
        question_ms = self.planner.expected_ms(self.planner.full, spared, 1, LOREGLASS)
        advice = deadline_advice(question_ms, settings.answer_deadline_ms, settings.max_deadline_ms)
        return Note(advice or "ok")


def load_estimates(settings: GatewaySettings) -> Estimates:
    """Return the latencies that planning starts from."""
    if settings.reasoning is not Reasoning.VLM:
        return Estimates(load_latencies(settings.latencies))
    others = settings.stage_models.values()
    speeds = {stage: model.speed or settings.vlm_speed for model in others for stage in model.stages}
    return Estimates(load_latencies(settings.latencies, settings.vlm_speed, speeds))


def open_tiers(
    settings: GatewaySettings, has_fallback: bool, estimates: Estimates, metrics: GatewayMetrics
) -> list[Tier]:
    """Return the tiers, in the order in which a question tries them: degrade before shed."""
    generation = GenerationBudget(evidence_chars=settings.vlm_evidence_chars)
    planner = Planner(Plan.full(RetrievalLimits() if has_fallback else LITE_LIMITS, generation), estimates)

    def tier(name: str, waiting: int, planner: Planner) -> Tier:
        return Tier(metrics.open_admission(name, settings.max_in_flight, waiting), planner)

    full = tier("full", settings.max_waiting, planner)
    return [full, tier("degraded", 0, planner.without_model())] if has_fallback else [full]


def decoder_slots(settings: GatewaySettings, at_once: int) -> Admission:
    """Return the queue before decoders, which comes before admission and has the same order."""
    return Admission(at_once, settings.max_in_flight + settings.max_waiting)
