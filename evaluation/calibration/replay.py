"""What a run would have said under other thresholds, from what it explained of every question.

The rule is the gateway's (`gateway.steps.verification` and `.conclusion` document it and say what they
record; a test holds the two against each other). It is exact for `answer_confidence`, `supported`,
`borderline`, `judged`, `token_min`, `token_mean`, and for `direct_confidence`, `direct_from` where every
question went the whole way (`direct_from=1`), with five reservations:

- A judge that was never asked might have been under a higher `borderline`; the answer is then taken to stand.
- Of a draft that was given at once nothing more is known; it is taken to be given again.
- A later turn has the earlier ones as its history, and might go another way had those gone another.
- Time is not replayed: a question that ran out of it has no answer under any thresholds.
- Where the lite reasoner answered in a model's place, the model's refused answer is not replayed.

`Replayed.exact` says of which questions the first three hold no doubt. `verify_from`, `same_thing`,
`decisive`, `tau_coarse` and `tau_fine` change what an answer is made from; for those the platform must be
asked again.
"""

import math
from dataclasses import dataclass

import numpy as np

from evaluation.calibration.cutoffs import Cutoffs
from evaluation.calibration.signals import Bools, Floats, Signals


@dataclass(frozen=True, slots=True)
class Rates:
    """Shares of all questions, in 0..1; all NaN where `count` is 0."""

    count: int
    accuracy: float
    acceptable: float
    missing: float
    hallucination: float

    @property
    def truthfulness(self) -> float:
        """Mean of 1, 0.5, 0 and -1."""
        return self.accuracy + 0.5 * self.acceptable - self.hallucination

    @property
    def coverage(self) -> float:
        """The share that got any answer."""
        return 1.0 - self.missing


@dataclass(frozen=True, slots=True)
class Replayed:
    """One entry a question: whether an answer is given, its points, and whether that is certain."""

    given: Bools
    points: Floats
    exact: Bools


def replay(signals: Signals, cutoffs: Cutoffs) -> Replayed:
    """What would have been said. A refusal, and an answer that amounts to one, has 0 points."""
    direct = goes_direct(signals, cutoffs)
    whole_way = stands(signals, cutoffs) & ~signals.went_direct
    given = direct | whole_way
    points = np.where(direct, signals.draft, np.where(whole_way, signals.proposed, 0.0))
    doubted = _judge_unknown(signals, cutoffs) & ~direct
    doubted |= signals.went_direct & ~_router_says_direct(signals, cutoffs)
    return Replayed(
        given, np.nan_to_num(points, nan=0.0), ~doubted & ~_after_a_change(signals, given, direct)
    )


def rates(points: Floats) -> Rates:
    """The scores of some questions."""
    total = len(points)
    if total == 0:
        return Rates(0, math.nan, math.nan, math.nan, math.nan)
    shares = [float(np.count_nonzero(points == value)) / total for value in (1.0, 0.5, 0.0, -1.0)]
    return Rates(total, *shares)


def goes_direct(signals: Signals, cutoffs: Cutoffs) -> Bools:
    """Whose draft is given at once; always those whose draft was, since nothing else is known of them."""
    return _router_says_direct(signals, cutoffs) | signals.went_direct


def stands(signals: Signals, cutoffs: Cutoffs) -> Bools:
    """Whose proposed answer is given at the end of the whole way."""
    probability = support_under(signals, cutoffs)
    refused = signals.answer_confidence < cutoffs.answer_confidence
    refused |= (signals.token_min < cutoffs.token_min) | (signals.token_mean < cutoffs.token_mean)
    refused |= probability_of_verifier(signals, probability) < cutoffs.supported
    disbelieved = signals.judged < cutoffs.judged
    refused |= disbelieved & (signals.judge_first | (probability < cutoffs.borderline))
    given: Bools = ~np.isnan(signals.proposed) & signals.citable & ~refused
    return given


def support_under(signals: Signals, cutoffs: Cutoffs) -> Floats:
    """The verifier's probability under other token thresholds; `token_mean` where the verifier was out."""
    same = (cutoffs.token_min, cutoffs.token_mean) == (
        signals.in_force.token_min,
        signals.in_force.token_mean,
    )
    moves = ~np.isnan(signals.token_min) & (not same)
    parts = [
        signals.evidence_support,
        bent(signals.token_min, cutoffs.token_min),
        bent(signals.token_mean, cutoffs.token_mean),
        np.where(signals.judge_first, signals.judged, np.nan),
    ]
    least = np.fmin.reduce(parts)
    verified = np.where(moves, least, signals.support)
    return np.where(np.isnan(signals.support), signals.token_mean, verified)


def probability_of_verifier(signals: Signals, probability: Floats) -> Floats:
    """The same where the verifier answered; only that is held against `supported`."""
    return np.where(np.isnan(signals.support), np.nan, probability)


def bent(score: Floats, threshold: float) -> Floats:
    """The verifier's common scale, on which every token threshold lies at 0.5."""
    below = 0.5 * (score / threshold) if threshold > 0.0 else score
    above = 0.5 + 0.5 * ((score - threshold) / (1.0 - threshold)) if threshold < 1.0 else np.ones_like(score)
    return np.where(np.isnan(score), np.nan, np.where(score < threshold, below, above))


def _router_says_direct(signals: Signals, cutoffs: Cutoffs) -> Bools:
    """A draft that has an answer has a `p_direct`."""
    return (signals.draft_confidence >= cutoffs.direct_confidence) & (signals.p_direct >= cutoffs.direct_from)


def _judge_unknown(signals: Signals, cutoffs: Cutoffs) -> Bools:
    """The judge would be asked here, was not there, and is all that could still refuse."""
    needed = support_under(signals, cutoffs) < cutoffs.borderline
    needed_then = support_under(signals, signals.in_force) < signals.in_force.borderline
    refused_then = ~_asked_so_far(signals, signals.in_force)
    unheard = ~signals.judge_asked & ~signals.judge_first & (~needed_then | refused_then)
    return unheard & needed & stands(signals, cutoffs)


def _asked_so_far(signals: Signals, cutoffs: Cutoffs) -> Bools:
    """Nothing refuses before the judge is asked; the reasoner's own doubt counts only after it."""
    by_tokens = (signals.token_min < cutoffs.token_min) | (signals.token_mean < cutoffs.token_mean)
    probability = probability_of_verifier(signals, support_under(signals, cutoffs))
    return ~(by_tokens | (probability < cutoffs.supported))


def _after_a_change(signals: Signals, given: Bools, direct: Bools) -> Bools:
    """Turns with an earlier turn in their conversation that is said, or come by, otherwise than it was."""
    changed = (given != signals.given) | (direct != signals.went_direct)
    if not np.any(changed):
        return np.zeros(len(signals), bool)
    first = np.full(int(signals.session.max()) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, signals.session[changed], signals.turn[changed])
    later: Bools = signals.turn > first[signals.session]
    return later
