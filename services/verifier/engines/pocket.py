"""A verifier without a model: what the evidence has of an answer, under a fitted logistic curve."""

from collections.abc import Callable, Sequence
from pathlib import Path

from chassis.calibration import LogisticCurve
from chassis.models.wanted import while_wanted
from contracts.verifier import CheckName
from language.names import mentions
from services.verifier.engine import NO_SIGNALS, CheckOutcome, ModelSignals, Span, Verdict
from services.verifier.engines.certainty import certainty_of
from services.verifier.engines.claims import claims_of
from services.verifier.engines.evidence import statements
from services.verifier.engines.support import Features, Support, Weighing

WEIGHTS = Path(__file__).with_name("pocket_weights.json")
_LACKING = {
    CheckName.ENTITY: "The evidence does not name {}.",
    CheckName.NUMBERS: "The evidence does not give {}.",
    CheckName.DATES: "The evidence does not give the date {}.",
    CheckName.TERMS: "The evidence does not mention {}.",
}
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
        scored = [self._curve.probability(support.features.vector()) for support in supports]
        strongest = supports[max(range(len(supports)), key=scored.__getitem__)].statement
        span = Span(strongest.index, strongest.start, strongest.end)
        return Verdict(min(scored), span, _checks(supports, evidence, entity), by_evidence=min(scored))


def weigh(question: str, answer: str, evidence: Sequence[str], entity: str | None) -> list[Support]:
    """Each of the answer's claims against the evidence; empty when either side has none."""
    read = statements(evidence, f"{question} {answer} {entity or ''}", entity)
    return (
        [Weighing(claim, read).support() for claim in while_wanted(claims_of(question, answer, entity))]
        if read
        else []
    )


def weakest(supports: Sequence[Support], probability: Callable[[Features], float]) -> Features:
    """The features of the claim that decides."""
    return min((support.features for support in supports), key=probability, default=_NO_FEATURES)


def _checks(
    supports: Sequence[Support], evidence: Sequence[str], entity: str | None
) -> tuple[CheckOutcome, ...]:
    lacking: dict[CheckName, dict[str, None]] = {name: {} for name in _LACKING}
    if entity and not any(mentions(text, entity) for text in evidence):
        lacking[CheckName.ENTITY][entity] = None
    for check, text in (each for support in supports for each in support.missing):
        lacking[check][text] = None
    details = {
        name: _LACKING[name].format(", ".join(texts)) if texts else "" for name, texts in lacking.items()
    }
    elsewhere = next((support.elsewhere for support in supports if support.elsewhere), "")
    details[CheckName.NUMBERS] = details[CheckName.NUMBERS] or elsewhere
    denied = ", ".join(dict.fromkeys(word for support in supports for word in support.denied))
    details[CheckName.NEGATION] = (
        f"Answer and evidence disagree on whether it is so: {denied}." if denied else ""
    )
    order = (CheckName.ENTITY, CheckName.NUMBERS, CheckName.DATES, CheckName.NEGATION, CheckName.TERMS)
    return tuple(CheckOutcome(name, not details[name], details[name]) for name in order)
