"""Replay a run under other thresholds, from the explanations of its answers.

The rule is the gateway's (`gateway.steps.verification` and `.conclusion` document it and say what they
record; a test holds the two against each other). It is exact for `answer_confidence`, `supported`,
`judged`, `token_min`, `token_mean`, `judge_token_min`, `judge_token_mean`, and for `direct_confidence`,
`direct_from` where every question went the whole way (`direct_from=1`), with four reservations:

- Of a draft that was given at once nothing more is known; it is taken to be given again.
- A later turn has the earlier ones as its history, and might go another way had those gone another.
- Time is not replayed: a question that ran out of it has no answer under any thresholds.
- Where the lite reasoner answered in a model's place, the model's refused answer is not replayed.

`verify_from`, `same_thing`, `decisive`, `tau_coarse` and `tau_fine` change what an answer is made from; for
those make a run each (`eval run --threshold NAME=VALUE`) and calibrate on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.data.model import EvaluationError
from evaluation.judging.verdicts import Judgement
from evaluation.record import TurnRecord
from loreglass_client.models import Explanation, Route


class CalibrationError(EvaluationError):
    """Nothing to calibrate with, or nothing that would keep the promise; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """The thresholds that decide whether an answer is given; each in 0..1.

    `direct_confidence`, `direct_from`: when the draft is given at once. `answer_confidence`: the reasoner's
    own doubt. `token_min`, `token_mean`: its tokens' (QA-Dragon, 3.7.2). `supported`: the verifier's.
    `judged`: the model judge's. `judge_token_min`, `judge_token_mean`: its tokens', 0 in older runs.
    """

    direct_confidence: float
    direct_from: float
    answer_confidence: float
    supported: float
    judged: float
    token_min: float
    token_mean: float
    judge_token_min: float = 0.0
    judge_token_mean: float = 0.0

    @classmethod
    def among(cls, thresholds: Mapping[str, float]) -> "Cutoffs":
        """Select the cutoffs from all thresholds. Raises `CalibrationError` if one is missing."""
        thresholds = {**dict.fromkeys(OF_JUDGE, 0.0), **thresholds}
        missing = [name for name in REPLAYED if name not in thresholds]
        if missing:
            raise CalibrationError(
                f"The answers were not held against {missing[0]}: this pipeline has no thresholds to move."
            )
        return cls(**{name: thresholds[name] for name in REPLAYED})

    def distance(self, other: "Cutoffs") -> float:
        """Return the sum of the absolute differences between two settings."""
        mine, others = astuple(self), astuple(other)
        return float(sum(abs(one - two) for one, two in zip(mine, others, strict=True)))


REPLAYED = tuple(field.name for field in fields(Cutoffs))
ROUTER = ("direct_confidence", "direct_from")
OF_JUDGE = ("judge_token_min", "judge_token_mean")
ANSWER = tuple(name for name in REPLAYED if name not in ROUTER)

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Signals:
    """One row a question; NaN where nothing was measured, which then refuses nothing.

    `session`: a number a conversation. `proposed`, `draft`: the points of the answer in hand at the end and
    of the provisional one (1, 0.5, 0, -1); NaN where there is none. From `draft_confidence` to
    `judge_token_mean`: the gateway's signals. `citable`: the answer's sources stand, or need not.
    `went_direct`: the draft was given, so that nothing is known of the whole way. `in_force`: the thresholds
    of the run.
    """

    in_force: Cutoffs
    session: Ints
    proposed: Floats
    draft: Floats
    draft_confidence: Floats
    p_direct: Floats
    answer_confidence: Floats
    token_min: Floats
    token_mean: Floats
    support: Floats
    evidence_support: Floats
    judged: Floats
    judge_token_min: Floats
    judge_token_mean: Floats
    citable: Bools
    went_direct: Bools

    def __len__(self) -> int:
        return len(self.session)

    @property
    def sessions(self) -> int:
        return len(np.unique(self.session))

    def where(self, chosen: Bools | Ints) -> "Signals":
        """Return the signals of some questions."""
        return replace(self, **{name: getattr(self, name)[chosen] for name in _COLUMNS})


_COLUMNS = tuple(field.name for field in fields(Signals) if field.name != "in_force")
_MEASURED = (
    "draft_confidence", "p_direct", "answer_confidence", "token_min", "token_mean",
    "support", "evidence_support", "judged", "judge_token_min", "judge_token_mean",
)  # fmt: skip
"""The gateway's signals that thresholds are held against, or that say what they are."""


def signals_of(
    records: Sequence[TurnRecord],
    proposed: Mapping[str, Judgement],
    drafts: Mapping[str, Judgement],
    in_force: Cutoffs,
) -> Signals:
    """The arrays of a run. `proposed`, `drafts`: verdicts by interaction id, of the answers that there are.

    A question that failed or ran out of time has no answer to give under any thresholds.
    """
    sessions = dict.fromkeys((record.part, record.session_id) for record in records)
    numbers = {session: place for place, session in enumerate(sessions)}
    seen = [_explanation(record) for record in records]
    routes = [record.answer.route if record.answer else None for record in records]

    def measured(name: str) -> Floats:
        return np.array([explained.signals.get(name, np.nan) for explained in seen], np.float64)

    direct = np.array([route is Route.DIRECT for route in routes], bool)
    return Signals(
        in_force=in_force,
        session=np.array([numbers[r.part, r.session_id] for r in records], np.int64),
        proposed=np.where(direct, np.nan, _points(records, proposed)),
        draft=_points(records, drafts),
        citable=(measured("citable") > 0.0) & ~(measured("withheld") > 0.0),
        went_direct=direct,
        **{name: measured(name) for name in _MEASURED},
    )


def _explanation(record: TurnRecord) -> Explanation:
    explanation = record.answer.explanation if record.answer else None
    return explanation or Explanation()


def _points(records: Sequence[TurnRecord], judgements: Mapping[str, Judgement]) -> Floats:
    verdicts = [judgements.get(record.interaction_id) for record in records]
    return np.array([np.nan if one is None else one.verdict.points for one in verdicts], np.float64)


def join(parts: Sequence[Signals]) -> Signals:
    """Join several runs' signals; conversations of different parts are different conversations."""
    offsets = np.cumsum([0, *(int(part.session.max(initial=-1)) + 1 for part in parts)])
    apart = [replace(part, session=part.session + at) for part, at in zip(parts, offsets, strict=False)]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in apart]) for name in _COLUMNS
    }
    return replace(parts[0], **columns)


def by_conversation(signals: Signals, values: Floats | Bools) -> tuple[Floats, Floats]:
    """Return the sum of the values and the number of questions of each conversation."""
    _, session = np.unique(signals.session, return_inverse=True)
    sums, counts = np.bincount(session, values), np.bincount(session)
    return sums.astype(np.float64), counts.astype(np.float64)


def replay(signals: Signals, cutoffs: Cutoffs) -> Floats:
    """Return the points of each question under these thresholds: 0 for a refusal."""
    routed = [signal_under(signals, name, cutoffs) >= getattr(cutoffs, name) for name in ROUTER]
    direct = np.logical_and.reduce(routed) | signals.went_direct  # nothing else is known of those
    refused = [signal_under(signals, name, cutoffs) < getattr(cutoffs, name) for name in ANSWER]
    whole_way = signals.citable & ~np.logical_or.reduce(refused) & ~signals.went_direct
    return np.nan_to_num(np.where(direct, signals.draft, np.where(whole_way, signals.proposed, 0.0)), nan=0.0)


_SIGNAL_OF = {"direct_confidence": "draft_confidence", "direct_from": "p_direct"}


def signal_under(signals: Signals, name: str, cutoffs: Cutoffs) -> Floats:
    """Return the signal that is compared with the threshold of that name; NaN if it was not measured.

    A draft that has an answer has a `p_direct`.
    """
    if name == "supported":
        return _support_under(signals, cutoffs)
    signal: Floats = getattr(signals, _SIGNAL_OF.get(name, name))
    return signal


def _support_under(signals: Signals, cutoffs: Cutoffs) -> Floats:
    """Return the verifier's probability under other token thresholds; NaN if the verifier was unavailable."""
    before = signals.in_force
    moved = (cutoffs.token_min, cutoffs.token_mean) != (before.token_min, before.token_mean)
    moves = ~np.isnan(signals.token_min) & moved
    parts = [
        signals.evidence_support,
        _bent(signals.token_min, cutoffs.token_min),
        _bent(signals.token_mean, cutoffs.token_mean),
        signals.judged,
    ]
    supported: Floats = np.where(moves, np.fmin.reduce(parts), signals.support)
    return np.where(np.isnan(signals.support), np.nan, supported)


def _bent(score: Floats, threshold: float) -> Floats:
    """Return values on the verifier's common scale, on which every token threshold is 0.5."""
    below = 0.5 * (score / threshold) if threshold > 0.0 else score
    above = 0.5 + 0.5 * ((score - threshold) / (1.0 - threshold)) if threshold < 1.0 else np.ones_like(score)
    return np.where(np.isnan(score), np.nan, np.where(score < threshold, below, above))
