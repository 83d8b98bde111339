"""The search router (QA-Dragon, section 3.2): answer directly, verify the draft, or look everything up."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, FiniteFloat, ValidationError, model_validator

from chassis.calibration import LogisticCurve
from chassis.startup import WrongSettings
from chassis.validation import first_fault
from contracts.answer import Route
from gateway.planning.explaining import SILENT, Explaining
from gateway.reasoning.refusals import is_refusal
from gateway.state import Draft
from gateway.thresholds import Thresholds
from language.names import Name, names
from language.words import hedges

FALLING = frozenset({"speculates"})
"""The features that can only speak against a draft; every other one can only speak for it."""


class RouterFeatures(NamedTuple):
    """Each in 0..1, 1 meaning that it applies. The section's three groups:

    Answerability: `self_contained` (the reasoner says that photo and question suffice), `confidence`.
    Answer type: `quoted` (what it says stands in the photo's print), `number`, `named` (it holds a name).
    Uncertainty: `speculates` (answer or reasoning hedges; what it quotes is not its own doubt).
    """

    self_contained: float
    confidence: float
    quoted: float
    number: float
    named: float
    speculates: float


FEATURES = RouterFeatures._fields


def photo_suffices(draft: Draft, features: RouterFeatures) -> bool:
    """Return Table 1's condition for a direct answer: print or a named thing bears the draft out.

    A name in the answer that is not in print was recalled, not seen.
    """
    borne_out = bool(features.quoted or (draft.entity and not features.named))
    return bool(features.self_contained) and borne_out and not features.speculates


def router_features(draft: Draft) -> RouterFeatures:
    """Return the features of a draft with an answer and a measured confidence."""
    answer = draft.answer or ""
    return RouterFeatures(
        self_contained=float(draft.self_contained),
        confidence=draft.confidence or 0.0,
        quoted=float(bool(draft.quotes)),
        number=float(any(character.isdigit() for character in answer)),
        named=float(any(map(_is_proper, names(answer)))),
        speculates=float(hedges(f"{_own_words(draft)}\n{draft.reasoning}")),
    )


def _is_proper(name: Name) -> bool:
    """Return whether a name is more than the capitalised first word of the answer ("Green.")."""
    return name.start > 0 or len(name.text.split()) > 1


def _own_words(draft: Draft) -> str:
    """The answer without what it quotes: a sign that says "maybe today" is not a reasoner in doubt."""
    answer = draft.answer or ""
    for quote in draft.quotes:
        answer = answer.replace(quote, " ") if quote.strip() else answer
    return answer


class RouterArtefact(BaseModel):
    """`coefficients` by feature; of `constant` ones nothing could be learnt, and they weigh nothing.

    `format` rises when a feature is measured in another way, or the file changes its shape. For readers only:
    the files that it was fitted on, and how it does on conversations that it had not seen.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: Literal[1]
    date: str
    intercept: FiniteFloat
    coefficients: dict[str, FiniteFloat]
    constant: list[str]
    fitted_on: list[dict[str, Any]]
    held_out: dict[str, float]

    @model_validator(mode="after")
    def _same_features(self) -> Self:
        if tuple(self.coefficients) != FEATURES:
            raise ValueError("it was fitted on other features: export the drafts and train again")
        return self

    @property
    def curve(self) -> LogisticCurve:
        """P(the draft is right), for features in the order of `FEATURES`."""
        return LogisticCurve(self.intercept, tuple(self.coefficients.values()))

    @classmethod
    def load(cls, path: Path) -> "RouterArtefact":
        """Load the file. Raises `WrongSettings`, in words for an operator."""
        name = f"The search router's file {path}"
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise WrongSettings(f"{name} cannot be read.") from error
        except ValidationError as error:
            raise WrongSettings(f"{name} cannot be used: {first_fault(error)}.") from None


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
        if is_refusal(draft.answer) or draft.confidence is None:
            return Route.RAG
        features = router_features(draft)
        right = self.curve.probability(features) if self.curve else draft.confidence
        direct = right if photo_suffices(draft, features) else 0.0
        for name, value in features._asdict().items():
            explain.signal(f"draft_{name}", value)
        explain.signal("p_direct", direct)
        explain.signal("p_verify", right)
        if draft.confidence >= thresholds.direct_confidence and direct >= thresholds.direct_from:
            return Route.DIRECT
        return Route.VERIFY if right >= thresholds.verify_from else Route.RAG
