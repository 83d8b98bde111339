"""Which of Table 1's three branches a draft takes: two fitted curves over named features."""

from dataclasses import dataclass
from pathlib import Path

from chassis.calibration import LogisticCurve
from contracts.answer import Route
from contracts.domain_router import Domain
from gateway.reasoning.refusals import answer_or_none
from gateway.stages.routing.features import RouterFeatures, router_features
from gateway.state import Ask, Draft
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
        """The curves that `python -m gateway.stages.routing.train` fitted."""
        return cls(LogisticCurve.load(DIRECT_WEIGHTS, FEATURES), LogisticCurve.load(VERIFY_WEIGHTS, FEATURES))

    def choose(self, ask: Ask, draft: Draft, domain: Domain | None, thresholds: Thresholds) -> Route:
        """The branch. A draft that does not know has failed; one too unsure is never given at once."""
        if answer_or_none(draft.answer) is None:
            return Route.RAG
        features = router_features(ask, draft, domain).vector()
        sure = draft.confidence >= thresholds.direct_confidence
        if sure and self.direct.probability(features) >= thresholds.direct_from:
            return Route.DIRECT
        return Route.VERIFY if self.verify.probability(features) >= thresholds.verify_from else Route.RAG
