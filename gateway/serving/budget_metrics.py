"""What the gateway's door and its plans look like from outside."""

from collections.abc import Iterable
from functools import partial
from itertools import product

from prometheus_client import CollectorRegistry, Counter, Gauge

from gateway.planning.estimates import Estimates
from gateway.planning.latencies import WORKING
from gateway.planning.stages import STAGE_BUDGETS, Stage
from gateway.serving.admission import Admission, Refusal
from gateway.serving.quotas import Exceeded
from gateway.state import Priority


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
