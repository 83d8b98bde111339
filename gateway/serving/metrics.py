"""The gateway's metrics and the log line of a question. They never hold its words or its answer's."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

import structlog
from prometheus_client import CollectorRegistry

from chassis.decoding.pool import Ending
from chassis.errors import PROBLEM_TYPE_PREFIX
from chassis.telemetry.metrics import counter, exemplar, gauge, histogram, series_of
from contracts.answer import Reason, Route, Trace
from contracts.domain_router import Domain
from gateway.planning.estimates import Estimates
from gateway.planning.latencies import WORKING
from gateway.planning.run import DONE
from gateway.planning.stages import STAGE_BUDGETS, Stage
from gateway.serving.admission import Admission, Exceeded, Refusal
from gateway.state import Priority

log = structlog.get_logger()


FAILED, LEFT = "failed", "left"
"""Reasons beside those of the contract: the reply is a problem, or the client disconnected before it."""
NONE = "none"
"""The route or domain of a question that ended before it had one."""
_ROUTES = (*(route.value for route in Route), NONE)

_QUESTION_S = (0.1, 0.25, 0.5, 0.75, 1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 60)
_STAGE_S = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75),
    *(1, 1.5, 2, 3, 4, 5, 6, 8, 10),
)
_MODEL_CALLS = (0, 1, 2, 3, 4, 6, 8, 10, 12, 16)
_DECODE_S = (0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1, 1.5, 2, 3, 5)

_METRICS = (
    counter(
        "loreglass_questions_total",
        "Questions by outcome: the answer's reason, failed, or left (the client disconnected).",
        ("pipeline", "route", "reason"),
    ),
    counter(
        "loreglass_deadline_misses_total",
        "Questions that were not answered by their deadline.",
        ("kind",),
    ),
    counter("loreglass_domains_total", "Questions by topic.", ("domain",)),
    counter(
        "loreglass_tenant_questions_total",
        "Questions by tenant.",
        ("tenant",),
    ),
    counter(
        "loreglass_degraded_total",
        "Stages that failed or were skipped because time was short, by name.",
        ("kind",),
    ),
    histogram(
        "loreglass_question_seconds",
        "Time from the decoded question to its answer.",
        ("route",),
        buckets=_QUESTION_S,
    ),
    histogram(
        "loreglass_first_word_seconds",
        "Time from the decoded question to its first words.",
        ("route",),
        buckets=_QUESTION_S,
    ),
    histogram(
        "loreglass_question_vlm_calls",
        "Requests to the model per question, with retries and cancelled ones.",
        ("route",),
        buckets=_MODEL_CALLS,
    ),
    histogram(
        "loreglass_stage_seconds",
        "Duration of completed stages. For the others see loreglass_stages_total.",
        ("stage", "route"),
        buckets=_STAGE_S,
    ),
    counter(
        "loreglass_stages_total",
        "Stages by outcome; detail is the kind of error of a failed one.",
        ("stage", "state", "detail"),
    ),
    gauge("loreglass_stage_cap_seconds", "Time limit of a stage.", ("stage",)),
    gauge(
        "loreglass_stage_expected_seconds",
        "Median duration that the planner expects of a call on an idle platform.",
        ("stage",),
    ),
    histogram(
        "loreglass_photo_decode_seconds",
        "Time to decode, check and encode a photo.",
        buckets=_DECODE_S,
    ),
    counter(
        "loreglass_decoder_ended_total",
        "Decoder processes that ended, by reason.",
        ("what", "reason"),
    ),
    gauge("loreglass_admission_waiting", "Questions waiting for admission.", ("tier",)),
    gauge("loreglass_admission_in_flight", "Questions in progress.", ("tier",)),
    gauge("loreglass_admission_oldest_wait_seconds", "Age of the oldest waiting question.", ("tier",)),
    counter(
        "loreglass_admission_refused_total",
        "Questions that a tier refused. They try the next tier.",
        ("tier", "priority", "reason"),
    ),
    counter("loreglass_quota_exceeded_total", "Requests refused because of a tenant's quota.", ("quota",)),
)
"""One row a metric: name, help text, labels."""


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
        """Return the outcome: the contract's reason, `failed` or `left`.

        A question without a reply when its time is over gets a problem from the exchange: it has failed.
        """
        if self.stopped and not self.overran:
            return LEFT
        failed = self.stopped or self.trace.problem is not None or self.trace.reason is None
        return FAILED if failed else str(self.trace.reason)

    @property
    def miss(self) -> Miss | None:
        """Return the kind of missed deadline, or None. A problem that is returned in time is no miss."""
        if self.overran:
            return Miss.LATE
        return Miss.REFUSED if self.trace.reason is Reason.TIMED_OUT else None


OnEnd = Callable[[QuestionRecord], None]


class GatewayMetrics:
    """The series of the table above. Exemplars name traces, so that the slowest questions can be looked up.

    Tiers: `full`, and `degraded` without the model; `stt` and `tts`, see `Voice.turns`. `pipeline`: the one
    of most questions. Its series start at zero: to Prometheus, a series' first value is no increase.
    """

    def __init__(self, registry: CollectorRegistry, pipeline: str, estimates: Estimates) -> None:
        self._series = series_of(registry, _METRICS)
        self._estimates = estimates
        self._pipelines: set[str] = set()
        self._stages: set[str] = set()
        self._start_pipeline(pipeline)
        for route in _ROUTES:
            for name in ("question_seconds", "first_word_seconds", "question_vlm_calls"):
                self._series(f"loreglass_{name}", route)
        for kind in Miss:
            self._series("loreglass_deadline_misses_total", kind.value)
        for domain in (*(each.value for each in Domain), NONE):
            self._series("loreglass_domains_total", domain)
        for what, ending in product(("photo", "sound"), Ending):
            self._series("loreglass_decoder_ended_total", what, ending.value)
        for exceeded in Exceeded:
            self._series("loreglass_quota_exceeded_total", exceeded.value)

    def count_question(self, question: QuestionRecord) -> None:
        """Count and log a question that is over. The operator chose the names of tenants and pipelines."""
        trace, route, example = question.trace, question.route, {"trace_id": question.trace.trace_id}
        self._start_pipeline(trace.pipeline)
        self._series("loreglass_questions_total", trace.pipeline, route, question.reason).inc()
        self._series("loreglass_tenant_questions_total", question.tenant).inc()
        self._series("loreglass_domains_total", question.domain.value if question.domain else NONE).inc()
        if question.miss is not None:
            self._series("loreglass_deadline_misses_total", question.miss.value).inc()
        for kind in question.degraded:
            self._series("loreglass_degraded_total", kind).inc()
        self._series("loreglass_question_seconds", route).observe(trace.total_ms / 1000, example)
        if question.first_word_ms is not None:
            first_word_s = question.first_word_ms / 1000
            self._series("loreglass_first_word_seconds", route).observe(first_word_s, example)
        self._series("loreglass_question_vlm_calls", route).observe(question.model_calls)
        for stage in trace.stages:
            self._show_budget(stage.stage)
            self._series("loreglass_stages_total", stage.stage, stage.state, stage.detail).inc()
            if stage.state == DONE:
                seconds = self._series("loreglass_stage_seconds", stage.stage, route)
                seconds.observe(stage.ms / 1000, example)
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

    def count_photo(self, seconds: float) -> None:
        """Count a photo that was checked and cleaned, or refused."""
        self._series("loreglass_photo_decode_seconds").observe(seconds, exemplar())

    def count_decoder_end(self, what: str, reason: Ending) -> None:
        """Count a decoder process that ended, by what it decoded."""
        self._series("loreglass_decoder_ended_total", what, reason.value).inc()

    def count_excess(self, exceeded: Exceeded) -> None:
        """Count a request that its tenant's quota refused; the log of the request names no tenant."""
        self._series("loreglass_quota_exceeded_total", exceeded.value).inc()

    def open_admission(self, tier: str, at_once: int, waiting: int) -> Admission:
        """Return a queue whose state is read at each scrape, and whose refusals are counted."""

        def count_refusal(priority: Priority, refusal: Refusal) -> None:
            self._series("loreglass_admission_refused_total", tier, priority.value, refusal.value).inc()

        admission = Admission(at_once, waiting, on_refusal=count_refusal)
        for name, read in {
            "waiting": lambda: admission.waiting,
            "in_flight": lambda: admission.in_flight,
            "oldest_wait_seconds": lambda: admission.oldest_wait_ms / 1000,
        }.items():
            self._series(f"loreglass_admission_{name}", tier).set_function(read)
        for priority, refusal in product(Priority, Refusal):
            self._series("loreglass_admission_refused_total", tier, priority.value, refusal.value)
        return admission

    def _start_pipeline(self, pipeline: str) -> None:
        if pipeline in self._pipelines:
            return
        self._pipelines.add(pipeline)
        endings = [(route.value, reason.value) for route, reason in product(Route, Reason)]
        for route, reason in (*endings, (NONE, FAILED), (NONE, LEFT)):
            self._series("loreglass_questions_total", pipeline, route, reason)

    def _show_budget(self, name: str) -> None:
        """Show the cap of a stage that was reached, and from now on its expected time."""
        if name in self._stages:
            return
        self._stages.add(name)
        stage = Stage(name)
        if stage in STAGE_BUDGETS:
            self._series("loreglass_stage_cap_seconds", name).set(STAGE_BUDGETS[stage].cap / 1000)
        if stage in WORKING:
            expected = self._series("loreglass_stage_expected_seconds", name)
            expected.set_function(lambda: self._estimates.p50_ms(stage) / 1000)
