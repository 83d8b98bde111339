"""Which of Table 1's three branches a draft takes (QA-Dragon, section 3.2)."""

from dataclasses import dataclass
from pathlib import Path

from chassis.calibration import LogisticCurve
from contracts.answer import Route
from gateway.planning.explaining import SILENT, Explaining
from gateway.reasoning.refusals import answer_or_none
from gateway.state import Draft
from gateway.steps.routing.artefact import RouterArtefact
from gateway.steps.routing.features import RouterFeatures, photo_suffices, router_features
from gateway.thresholds import Thresholds


@dataclass(frozen=True, slots=True)
class SearchRouter:
    """`curve`: P(the draft is right) from its features, fitted on runs; None: the draft's own confidence."""

    curve: LogisticCurve | None = None

    @classmethod
    def load(cls, path: Path | None) -> "SearchRouter":
        """With the curve of an artefact, if there is one. Raises `WrongSettings` for any other file."""
        return cls() if path is None else cls(RouterArtefact.load(path).curve)

    def choose(self, draft: Draft, thresholds: Thresholds, explain: Explaining = SILENT) -> Route:
        """Direct: the photo suffices, and the draft is likely right. Verify: it is likely right. Else RAG.

        A draft whose confidence was not measured takes the RAG branch.

        Signals of a draft with an answer: `draft_` and a feature's name; `p_verify`, P(the draft is right);
        `p_direct`, the same where the photo suffices, else 0.
        """
        if answer_or_none(draft.answer) is None or draft.confidence is None:
            return Route.RAG
        features = router_features(draft)
        right = self._probability(features)
        direct = right if photo_suffices(draft, features) else 0.0
        for name, value in features.by_name().items():
            explain.signal(f"draft_{name}", value)
        explain.signal("p_direct", direct)
        explain.signal("p_verify", right)
        if draft.confidence >= thresholds.direct_confidence and direct >= thresholds.direct_from:
            return Route.DIRECT
        return Route.VERIFY if right >= thresholds.verify_from else Route.RAG

    def _probability(self, features: RouterFeatures) -> float:
        if self.curve is None:
            return features.confidence
        return self.curve.probability(list(features.by_name().values()))
