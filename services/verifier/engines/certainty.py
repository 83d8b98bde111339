"""Certainty of the models about an answer: token probabilities and the model judge (QA-Dragon, 3.7.2).

An answer is accepted if the least token probability s_min and the mean s_mean reach their thresholds and
the judge, where it was asked, finds it rather correct than not.

The combined probability puts the three on one scale, where 0.5 is each one's threshold: a token score s with
threshold t becomes s / 2t below it and 1/2 + (s - t) / 2(1 - t) above it; the judgement stays as it is. The
least of them is the result. So it rises with each token's probability and with the judgement, falls with the
thresholds, and is at least 0.5 exactly when everything is accepted. It ranks answers; it is not calibrated.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from contracts.verifier import CheckName
from services.verifier.engine import NO_SIGNALS, CheckOutcome, ModelSignals, Verdict, Verifier

JUDGED_CORRECT_FROM = 0.5
_SENTENCES = {
    CheckName.TOKEN_MIN: "The least certain token has probability {:.2f}, below {:.2f}.",
    CheckName.TOKEN_MEAN: "The tokens have a mean probability of {:.2f}, below {:.2f}.",
    CheckName.JUDGE: "The judge finds the answer correct with probability {:.2f}, below {:.2f}.",
}


@dataclass(frozen=True, slots=True)
class Certainty:
    """`probability` as above; one check for each signal that was there."""

    probability: float
    checks: tuple[CheckOutcome, ...]

    @property
    def accepted(self) -> bool:
        """True if no signal is below its threshold."""
        return all(check.passed for check in self.checks)


def certainty_of(signals: ModelSignals) -> Certainty | None:
    """The models' own judgement of the answer; None when there is no signal at all."""
    scores = _scores(signals)
    if not scores:
        return None
    probability = min(on_common_scale(score, threshold) for _, score, threshold in scores)
    return Certainty(probability, tuple(_check(*score) for score in scores))


def on_common_scale(score: float, threshold: float) -> float:
    """`score` in 0..1, bent so that the threshold lies at 0.5; at least 0.5 exactly from there on."""
    if score < threshold:
        return 0.5 * (score / threshold)
    return 0.5 + 0.5 * ((score - threshold) / (1.0 - threshold)) if threshold < 1.0 else 1.0


def _scores(signals: ModelSignals) -> list[tuple[CheckName, float, float]]:
    """(check, score, threshold) of each signal that is there."""
    scores: list[tuple[CheckName, float, float]] = []
    if tokens := signals.token_probabilities:
        scores.append((CheckName.TOKEN_MIN, min(tokens), signals.token_min))
        scores.append((CheckName.TOKEN_MEAN, _mean(tokens), signals.token_mean))
    if signals.judgement is not None:
        scores.append((CheckName.JUDGE, signals.judgement, JUDGED_CORRECT_FROM))
    return scores


def _mean(tokens: Sequence[float]) -> float:
    """Never outside of what it is the mean of, whatever the rounding."""
    return min(max(fsum(tokens) / len(tokens), min(tokens)), max(tokens))


def _check(name: CheckName, score: float, threshold: float) -> CheckOutcome:
    if score >= threshold:
        return CheckOutcome(name, True)
    return CheckOutcome(name, False, _SENTENCES[name].format(score, threshold))


class WhiteBoxVerifier(Verifier):
    """Uses the model's signals. Without any, it checks the answer by the evidence.

    The judge has read question, photo, evidence and answer already, so a second check by the same evidence
    would only add its own errors. `by_evidence` is for answers that have neither token probabilities nor a
    judgement.
    """

    name = "white-box"

    def __init__(self, by_evidence: Verifier) -> None:
        self._by_evidence = by_evidence

    def verify(
        self,
        question: str,
        answer: str,
        evidence: Sequence[str],
        entity: str | None,
        signals: ModelSignals = NO_SIGNALS,
    ) -> Verdict:
        """Verify by the signals, or without any by the evidence."""
        certainty = certainty_of(signals)
        if certainty is None:
            return self._by_evidence.verify(question, answer, evidence, entity)
        return Verdict(certainty.probability, None, certainty.checks, refused=not certainty.accepted)
