"""The gateway's metrics and the log line of a question. They never hold its words or its answer's."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, partial
from itertools import product

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from chassis.decoding.pool import Ending
from chassis.errors import PROBLEM_TYPE_PREFIX
from chassis.telemetry.metrics import exemplar
from contracts.answer import Reason, Route, StageTrace, Trace
from contracts.domain_router import Domain
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import WORKING
from gateway.planning.run import DONE
from gateway.planning.stages import STAGE_BUDGETS, Stage
from gateway.serving.admission import Admission, Refusal
from gateway.serving.quotas import Exceeded
from gateway.state import Priority

log = structlog.get_logger()


FAILED, LEFT = "failed", "left"
"""Beside the contract's reasons: a problem was returned; the caller went before there was a reply."""
NONE = "none"
"""The route, or the domain, of a question that did not get so far."""

_QUESTION_S = (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 60)
_STAGE_S = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75),
    *(1, 1.5, 2, 3, 4, 5, 6, 8, 10),
)
_MODEL_CALLS = (0, 1, 2, 3, 4, 6, 8, 10, 12, 16)
_DECODE_S = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5)


class Miss(StrEnum):
    """A deadline missed: an honest refusal because time ran out, or a reply after its deadline or never."""

    REFUSED = "refused"
    LATE = "late"


@dataclass(frozen=True, slots=True)
class QuestionRecord:
    """A question that is over. `overran`: its deadline had passed by then; `stopped`: it has no reply.

    `first_word_ms`: when there was something to say, a thing's name or the answer; None without a reply.
    """

    trace: Trace
    domain: Domain | None
    degraded: tuple[str, ...]
    model_calls: int
    tenant: str
    overran: bool
    stopped: bool
    first_word_ms: float | None = None

    @property
    def route(self) -> str:
        """Its branch, `none` where none was taken."""
        return self.trace.route.value if self.trace.route else NONE

    @property
    def problem(self) -> str:
        """The kind of error that was returned, empty without one."""
        return self.trace.problem.type.removeprefix(PROBLEM_TYPE_PREFIX) if self.trace.problem else ""

    @property
    def reason(self) -> str:
        """Why it ended as it did: the contract's reason, `failed` or `left`.

        A question without a reply when its time is over gets a problem from the exchange: it has failed.
        """
        if self.stopped and not self.overran:
            return LEFT
        failed = self.stopped or self.trace.problem is not None or self.trace.reason is None
        return FAILED if failed else str(self.trace.reason)

    @property
    def miss(self) -> Miss | None:
        """Whether, and how, it missed its deadline. A problem returned in time is none."""
        if self.overran:
            return Miss.LATE
        return Miss.REFUSED if self.trace.reason is Reason.TIMED_OUT else None


OnEnd = Callable[[QuestionRecord], None]


def no_op(_: QuestionRecord) -> None:
    """Neither measures nor logs."""


def log_question(question: QuestionRecord) -> None:
    """One line a question; the operator chose the names of tenants and pipelines."""
    trace = question.trace
    log.info(
        "question",
        trace_id=trace.trace_id,
        pipeline=trace.pipeline,
        route=question.route,
        reason=question.reason,
        problem=question.problem,
        ms=round(trace.total_ms, 1),
        deadline_ms=trace.deadline_ms,
        degraded=question.degraded,
        vlm_calls=question.model_calls,
        tenant=question.tenant,
    )


class QuestionMetrics:
    """Questions by how they ended, and where their time went. `pipeline`: the one that most are asked of."""

    def __init__(self, registry: CollectorRegistry, pipeline: str) -> None:
        self._questions = Counter(
            "loreglass_questions_total",
            "Questions by how they ended: the answer's reason, failed, or left.",
            ("pipeline", "route", "reason"),
            registry=registry,
        )
        self._misses = Counter(
            "loreglass_deadline_misses_total",
            "Questions refused because time ran out, and those not answered by their deadline.",
            ("kind",),
            registry=registry,
        )
        domains = Counter("loreglass_domains_total", "Questions by domain.", ("domain",), registry=registry)
        tenants = Counter(
            "loreglass_tenant_questions_total",
            "Questions by tenant, a name that the operator gave to a key.",
            ("tenant",),
            registry=registry,
        )
        # Children are kept: to find one by its labels costs more than to count with it.
        self._counted, self._of_domain = cache(self._questions.labels), cache(domains.labels)
        self._of_tenant = cache(tenants.labels)
        self._degraded = Counter(
            "loreglass_degraded_total",
            "Stages that failed and cuts of the plan, by name.",
            ("kind",),
            registry=registry,
        )
        self._times = _Times(registry)
        self._pipelines: set[str] = set()
        self._start_at_zero(pipeline)
        for kind in Miss:
            self._misses.labels(kind.value)
        for domain in (*(each.value for each in Domain), NONE):
            self._of_domain(domain)

    def observe(self, question: QuestionRecord) -> None:
        """Count one that is over."""
        self._start_at_zero(question.trace.pipeline)
        self._counted(question.trace.pipeline, question.route, question.reason).inc()
        self._of_tenant(question.tenant).inc()
        self._of_domain(question.domain.value if question.domain else NONE).inc()
        if question.miss is not None:
            self._misses.labels(question.miss.value).inc()
        for kind in question.degraded:
            self._degraded.labels(kind).inc()
        self._times.observe(question)

    def decoded(self, seconds: float) -> None:
        """A photo was checked and cleaned, or found to be none."""
        self._times.decode.observe(seconds, exemplar())

    def _start_at_zero(self, pipeline: str) -> None:
        """What is missing before its first event has no rate when that comes; what nobody asks needs none."""
        if pipeline in self._pipelines:
            return
        self._pipelines.add(pipeline)
        for route in Route:
            for reason in Reason:
                self._questions.labels(pipeline, route.value, reason.value)
        for ending in (FAILED, LEFT):
            self._questions.labels(pipeline, NONE, ending)


class DecoderMetrics:
    """Decoder processes that are no more, by what they decoded and why they ended."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._ended = Counter(
            "loreglass_decoder_ended_total",
            "Decoder processes that ended: spent after many jobs, or killed as the reason says.",
            ("what", "reason"),
            registry=registry,
        )
        for what, reason in product(("photo", "sound"), Ending):
            self._ended.labels(what, reason.value)

    def ended(self, what: str, reason: Ending) -> None:
        """Count one."""
        self._ended.labels(what, reason.value).inc()


class _Times:
    """Histograms of a question and its stages. Their slowest can be looked up: exemplars name traces."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.decode = Histogram(
            "loreglass_photo_decode_seconds",
            "Decoding, checking and encoding anew of one photo, once it has a slot.",
            buckets=_DECODE_S,
            registry=registry,
        )
        question = Histogram(
            "loreglass_question_seconds",
            "From a question that was read, its photo decoded, to its answer.",
            ("route",),
            buckets=_QUESTION_S,
            registry=registry,
        )
        first_word = Histogram(
            "loreglass_first_word_seconds",
            "From a question that was read to what could be said first: what the thing is, or the answer.",
            ("route",),
            buckets=_QUESTION_S,
            registry=registry,
        )
        model_calls = Histogram(
            "loreglass_question_vlm_calls",
            "Requests to the model in one question, those made again or cut short included.",
            ("route",),
            buckets=_MODEL_CALLS,
            registry=registry,
        )
        routes = (*(route.value for route in Route), NONE)
        self._question = {route: question.labels(route) for route in routes}
        self._first_word = {route: first_word.labels(route) for route in routes}
        self._model_calls = {route: model_calls.labels(route) for route in routes}
        self._stage = Histogram(
            "loreglass_stage_seconds",
            "Stages that ran to their end; how the others ended is in loreglass_stages_total.",
            ("stage", "route"),
            buckets=_STAGE_S,
            registry=registry,
        )
        self._stages = Counter(
            "loreglass_stages_total",
            "Stages by how they ended; detail is a failed one's kind of error.",
            ("stage", "state", "detail"),
            registry=registry,
        )
        self._of_stage: dict[tuple[str, str], Histogram] = {}
        self._ended: dict[tuple[str, str, str], Counter] = {}

    def observe(self, question: QuestionRecord) -> None:
        """One that is over, with its stages."""
        route, example = question.route, {"trace_id": question.trace.trace_id}
        self._question[route].observe(question.trace.total_ms / 1000, example)
        if question.first_word_ms is not None:
            self._first_word[route].observe(question.first_word_ms / 1000, example)
        self._model_calls[route].observe(question.model_calls)
        for stage in question.trace.stages:
            self._observe_stage(stage, route, example)

    def _observe_stage(self, stage: StageTrace, route: str, example: dict[str, str]) -> None:
        """Children are kept: to find one by its labels costs more than to count with it."""
        ending = (stage.stage, stage.state, stage.detail)
        if ending not in self._ended:
            self._ended[ending] = self._stages.labels(*ending)
        self._ended[ending].inc()
        if stage.state != DONE:
            return
        timed = (stage.stage, route)
        if timed not in self._of_stage:
            self._of_stage[timed] = self._stage.labels(*timed)
        self._of_stage[timed].observe(stage.ms / 1000, example)


class BudgetMetrics:
    """Gauges of the queues and of the stages' budgets, a counter of who was not let in.

    Lanes: `full`, and `degraded` where the model has no time; `stt` and `tts`, see `Voice.turns`.
    """

    def __init__(self, registry: CollectorRegistry, estimates: Estimates) -> None:
        self._estimates = estimates
        self._reached: set[str] = set()
        self._waiting = Gauge(
            "loreglass_admission_waiting", "Questions that wait to be let in.", ("tier",), registry=registry
        )
        self._in_flight = Gauge(
            "loreglass_admission_in_flight", "Questions being worked on.", ("tier",), registry=registry
        )
        self._oldest = Gauge(
            "loreglass_admission_oldest_wait_seconds",
            "How long the one who has waited longest has waited.",
            ("tier",),
            registry=registry,
        )
        self._refused = Counter(
            "loreglass_admission_refused_total",
            "Questions that a tier did not let in; they try the next.",
            ("tier", "priority", "reason"),
            registry=registry,
        )
        self._exceeded = Counter(
            "loreglass_quota_exceeded_total",
            "Requests that were more than their tenant may have.",
            ("quota",),
            registry=registry,
        )
        for exceeded in Exceeded:
            self._exceeded.labels(exceeded.value)
        self._cap = Gauge(
            "loreglass_stage_cap_seconds",
            "The most time that a stage gets.",
            ("stage",),
            registry=registry,
        )
        self._expected = Gauge(
            "loreglass_stage_expected_seconds",
            "The median that planning believes in: of one call, with nothing else in flight.",
            ("stage",),
            registry=registry,
        )

    def watch(self, tier: str, admission: Admission) -> None:
        """Report the tier's queue at each scrape."""
        self._waiting.labels(tier).set_function(lambda: admission.waiting)
        self._in_flight.labels(tier).set_function(lambda: admission.in_flight)
        self._oldest.labels(tier).set_function(lambda: admission.oldest_wait_ms / 1000)
        # From 0: to Prometheus a series' first value is no increase; a first burst would look like faults.
        for priority, refusal in product(Priority, Refusal):
            self._refused.labels(tier, priority.value, refusal.value)

    def refused(self, tier: str, priority: Priority, refusal: Refusal) -> None:
        """Count one whom the tier sent away."""
        self._refused.labels(tier, priority.value, refusal.value).inc()

    def exceeded(self, exceeded: Exceeded) -> None:
        """Count one that its tenant's quota did not let in; the log of the request names no tenant."""
        self._exceeded.labels(exceeded.value).inc()

    def reached(self, names: Iterable[str]) -> None:
        """Report of the stages of these names, from now on, what they may take and are believed to take."""
        for stage in map(Stage, set(names) - self._reached):
            self._reached.add(stage)
            if stage in STAGE_BUDGETS:
                self._cap.labels(stage.value).set(STAGE_BUDGETS[stage].cap / 1000)
            if stage in WORKING:
                self._expected.labels(stage.value).set_function(partial(_expected_s, self._estimates, stage))


def _expected_s(estimates: Estimates, stage: Stage) -> float:
    return estimates.p50_ms(stage) / 1000
