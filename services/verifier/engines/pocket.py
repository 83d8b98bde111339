"""A lexical verifier: entity, numbers, dates, negation and terms under a fitted logistic curve."""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from contracts.verifier import CheckName
from services.verifier.engine import CheckOutcome, Span, Verdict
from services.verifier.engines.claims import claims_of
from services.verifier.engines.names import entity_words, missing_words
from services.verifier.engines.passages import Sentence, sentences_in, spelled_words
from services.verifier.engines.support import ClaimSupport, Features, support_of

WEIGHTS = Path(__file__).with_name("pocket_weights.json")
_ENOUGH_TERMS = 0.6
_NO_FEATURES = Features(*([0.0] * len(Features.__dataclass_fields__)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """Logistic regression from `Features` to the probability of support."""

    intercept: float
    coefficients: tuple[float, ...]

    @classmethod
    def load(cls, path: Path = WEIGHTS) -> "Calibration":
        """Read what `services.verifier.train_pocket` wrote; ValueError if the features have changed since."""
        stored = json.loads(path.read_text("utf-8"))
        if list(stored["coefficients"]) != list(Features.__dataclass_fields__):
            raise ValueError(f"{path.name} was fitted on other features; run the training script again")
        return cls(stored["intercept"], tuple(stored["coefficients"].values()))

    def probability(self, features: Features) -> float:
        """Support in 0..1."""
        weighted = zip(self.coefficients, features.vector(), strict=True)
        logit = self.intercept + sum(weight * value for weight, value in weighted)
        return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, logit))))


class PocketVerifier:
    """Checks an answer sentence by sentence; the weakest sentence decides."""

    name = "pocket-lexical"

    def __init__(self, calibration: Calibration | None = None) -> None:
        self._calibration = calibration or Calibration.load()

    def verify(self, question: str, answer: str, evidence: Sequence[str], entity: str | None) -> Verdict:
        """Judge the answer; no evidence or an answer without words is never supported."""
        supports = weigh(question, answer, evidence, entity)
        if not supports:
            detail = "There is nothing to compare with the evidence."
            return Verdict(0.0, None, (CheckOutcome(CheckName.TERMS, False, detail),))
        scored = [(self._calibration.probability(support.features), support) for support in supports]
        probability, _ = min(scored, key=lambda item: item[0])
        _, strongest = max(scored, key=lambda item: item[0])
        return Verdict(probability, _span(strongest.sentence), _checks(supports, evidence, entity))


def weigh(question: str, answer: str, evidence: Sequence[str], entity: str | None) -> list[ClaimSupport]:
    """Each of the answer's claims against the evidence; empty when either side has none."""
    sentences = sentences_in(evidence, f"{question} {answer} {entity or ''}")
    if not sentences:
        return []
    return [support_of(question, claim, sentences, entity) for claim in claims_of(question, answer, entity)]


def weakest(supports: Sequence[ClaimSupport], probability: Callable[[Features], float]) -> Features:
    """The features of the claim that decides."""
    return min((support.features for support in supports), key=probability, default=_NO_FEATURES)


def _span(sentence: Sentence | None) -> Span | None:
    return Span(sentence.evidence_index, sentence.start, sentence.end) if sentence else None


def _checks(
    supports: Sequence[ClaimSupport], evidence: Sequence[str], entity: str | None
) -> tuple[CheckOutcome, ...]:
    unnamed = _unnamed(evidence, entity)
    names = [name for support in supports for name in support.names]
    numbers = [number for support in supports for number in support.numbers]
    dates = [date for support in supports for date in support.dates]
    denied = [word for support in supports for word in support.denied]
    comparison = next((support.comparison for support in supports if support.comparison), "")
    elsewhere = [value for support in supports for value in (*support.misbound, *support.other)]
    misplaced = f"The evidence gives {', '.join(elsewhere)} for something else." if elsewhere else ""
    thin = min(support.features.coverage for support in supports) < _ENOUGH_TERMS
    terms = [term for support in supports for term in support.terms]
    return (
        _outcome(CheckName.ENTITY, [*unnamed, *names], "The evidence does not name {}."),
        _outcome(CheckName.NUMBERS, numbers, "The evidence does not give {}.", comparison or misplaced),
        _outcome(CheckName.DATES, dates, "The evidence does not give the date {}."),
        _outcome(CheckName.NEGATION, denied, "Answer and evidence disagree on whether it is so: {}."),
        _outcome(CheckName.TERMS, terms if thin else [], "The evidence does not mention {}."),
    )


def _unnamed(evidence: Sequence[str], entity: str | None) -> list[str]:
    if not entity:
        return []
    words = {word for passage in evidence for word in spelled_words(passage)}
    return [entity] if missing_words(entity_words(entity), words) else []


def _outcome(name: CheckName, missing: Sequence[str], sentence: str, otherwise: str = "") -> CheckOutcome:
    if missing:
        listed = ", ".join(dict.fromkeys(missing))
        return CheckOutcome(name, False, sentence.format(listed))
    return CheckOutcome(name, not otherwise, otherwise)
