"""The guards of this gateway: one before each service, one before the vision-language model."""

from functools import partial

from prometheus_client import CollectorRegistry, Gauge

from chassis.resilience.breaker import Breaker
from chassis.resilience.gates import Gate
from chassis.resilience.guard import Guard
from chassis.resilience.limits import GradientLimit
from chassis.resilience.retries import RetryBudget
from chassis.telemetry.metrics import GuardMetrics
from gateway.planning.placement import Cards

_MOST_WAITING = 64
"""Calls to one service that wait for others to end; several for each question in flight."""


def _in_use_s(gate: Gate) -> float:
    return gate.in_use / 1000


class Guards:
    """Makes them, with their metrics in `registry` and slots on the cards of the placement plan."""

    def __init__(self, registry: CollectorRegistry, cards: Cards | None) -> None:
        self.registry = registry
        self._cards = cards
        self._metrics = GuardMetrics(registry)
        if cards is not None:
            in_use = Gauge(
                "loreglass_card_in_use_seconds",
                "Expected GPU time of the small models' calls that are on a card now.",
                ("gpu",),
                registry=registry,
            )
            for gpu, gate in cards.gates.items():
                in_use.labels(str(gpu)).set_function(partial(_in_use_s, gate))

    def adaptive(self, name: str) -> Guard:
        """Return the guard of a service: it learns how many calls the service can have at once."""
        limit = GradientLimit()
        return self._guard(name, limit.value, limit, self._cards.slot(name) if self._cards else None)

    def fixed(self, name: str, at_once: int) -> Guard:
        """Return the guard of a server that says how much it takes: its own queue then never grows.

        How long its calls take depends on what they write, which tells nothing of how busy it is.
        """
        return self._guard(name, at_once)

    def _guard(
        self, name: str, at_once: float, limit: GradientLimit | None = None, card: Gate | None = None
    ) -> Guard:
        self._metrics.start(name, at_once)
        return Guard(
            name,
            breaker=Breaker(),
            gate=Gate(name, at_once, _MOST_WAITING),
            limit=limit,
            card=card,
            retries=RetryBudget(),
            observe=self._metrics.observe,
        )

    def weigh(self, service: str, items: int) -> float:
        """Return the milliseconds that a call is expected to keep its card busy; 0 where it needs none."""
        return self._cards.weight_ms(service, items) if self._cards else 0.0
