"""A lexical verifier: entity, numbers, dates, negation and terms under a fitted logistic curve."""

from collections.abc import Callable, Sequence
from pathlib import Path

from chassis.calibration import LogisticCurve
from contracts.verifier import CheckName
from services.verifier.engine import NO_SIGNALS, CheckOutcome, ModelSignals, Span, Verdict
from services.verifier.engines.certainty import certainty_of
from services.verifier.engines.claims import claims_of
from services.verifier.engines.names import entity_words, missing_words
from services.verifier.engines.passages import Sentence, sentences_in, spelled_words
from services.verifier.engines.support import ClaimSupport, Features, support_of

WEIGHTS = Path(__file__).with_name("pocket_weights.json")
_ENOUGH_TERMS = 0.6
_NO_FEATURES = Features(*([0.0] * len(Features.__dataclass_fields__)))


def load_curve(path: Path = WEIGHTS) -> LogisticCurve:
    """From `Features` to the probability of support, as `services.verifier.train_pocket` fitted it."""
    return LogisticCurve.load(path, list(Features.__dataclass_fields__))


class PocketVerifier:
    """Checks an answer sentence by sentence; the weakest sentence decides."""

    name = "pocket-lexical"

    def __init__(self, curve: LogisticCurve | None = None) -> None:
        self._curve = curve or load_curve()

    def verify(
        self,
        question: str,
        answer: str,
        evidence: Sequence[str],
        entity: str | None,
        signals: ModelSignals = NO_SIGNALS,
    ) -> Verdict:
        """Judge the answer; no evidence or an answer without words is never supported.

        Signals of models are a second opinion: they can only lower the probability.
        """
        verdict = self._compare(question, answer, evidence, entity)
        certainty = certainty_of(signals)
        if certainty is None:
            return verdict
        return Verdict(
            min(verdict.probability, certainty.probability),
            verdict.span,
            (*verdict.checks, *certainty.checks),
            refused=not certainty.accepted,
            by_evidence=verdict.probability,
        )

    def _compare(self, question: str, answer: str, evidence: Sequence[str], entity: str | None) -> Verdict:
        supports = weigh(question, answer, evidence, entity)
        if not supports:
            detail = "There is nothing to compare with the evidence."
            return Verdict(0.0, None, (CheckOutcome(CheckName.TERMS, False, detail),), by_evidence=0.0)
        scored = [(self._curve.probability(support.features.vector()), support) for support in supports]
        probability, _ = min(scored, key=lambda item: item[0])
        _, strongest = max(scored, key=lambda item: item[0])
        checks = _checks(supports, evidence, entity)
        return Verdict(probability, _span(strongest.sentence), checks, by_evidence=probability)


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
