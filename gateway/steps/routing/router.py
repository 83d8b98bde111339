"""Which of Table 1's three branches a draft takes: two fitted curves over named features."""

from dataclasses import dataclass
from pathlib import Path

from chassis.calibration import LogisticCurve
from contracts.answer import Route
from contracts.domain_router import Domain
from gateway.planning.explaining import SILENT, Explaining
from gateway.reasoning.refusals import answer_or_none
from gateway.state import Draft, Query
from gateway.steps.routing.features import RouterFeatures, router_features
from gateway.thresholds import Thresholds

DIRECT_WEIGHTS = Path(__file__).with_name("direct_weights.json")
VERIFY_WEIGHTS = Path(__file__).with_name("verify_weights.json")
FEATURES = tuple(RouterFeatures.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class SearchRouter:
    """`direct`: P(photo and question alone answer this). `verify`: P(the draft is worth checking), if not."""

    direct: LogisticCurve
    verify: LogisticCurve

    @classmethod
    def load(cls) -> "SearchRouter":
        """The curves that `python -m gateway.steps.routing.train` fitted."""
        return cls(LogisticCurve.load(DIRECT_WEIGHTS, FEATURES), LogisticCurve.load(VERIFY_WEIGHTS, FEATURES))

    def choose(
        self,
        query: Query,
        draft: Draft,
        domain: Domain | None,
        thresholds: Thresholds,
        explain: Explaining = SILENT,
    ) -> Route:
        """The branch. A draft that does not know has failed; one too unsure is never given at once.

        Signals: `p_direct`, `p_verify`, both whenever there is an answer to route.
        """
        if answer_or_none(draft.answer) is None:
            return Route.RAG
        features = router_features(query, draft, domain).vector()
        direct, verify = self.direct.probability(features), self.verify.probability(features)
        explain.signal("p_direct", direct)
        explain.signal("p_verify", verify)
        if draft.confidence >= thresholds.direct_confidence and direct >= thresholds.direct_from:
            return Route.DIRECT
        return Route.VERIFY if verify >= thresholds.verify_from else Route.RAG
