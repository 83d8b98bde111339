"""A run as arrays: what each question's thresholds were held against, and whether its answers were right."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evaluation.calibration.cutoffs import Cutoffs
from evaluation.judging.port import Judgement
from evaluation.record import TurnRecord
from loreglass_client.models import Explanation, Route

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]

CITABLE = "citable"


@dataclass(frozen=True, slots=True)
class Signals:
    """One row a question; NaN where nothing was measured, which then refuses nothing.

    `session`: a number a conversation, `turn`: the place in it. `proposed`, `draft`: the points of the
    answer in hand at the end and of the provisional one (1, 0.5, 0, -1); NaN where there is none. From
    `draft_confidence` to `judge_first`: the gateway's signals. `citable`: the answer's sources stand, or
    need not. `went_direct`: the draft was given, so that nothing is known of the whole way. `given`: what
    really happened. `in_force`: the thresholds of the run.
    """

    in_force: Cutoffs
    session: Ints
    turn: Ints
    proposed: Floats
    draft: Floats
    draft_confidence: Floats
    p_direct: Floats
    answer_confidence: Floats
    token_min: Floats
    token_mean: Floats
    token_grammar: Floats
    support: Floats
    evidence_support: Floats
    judged: Floats
    judge_asked: Bools
    judge_first: Bools
    citable: Bools
    went_direct: Bools
    given: Bools

    def __len__(self) -> int:
        return len(self.session)

    @property
    def sessions(self) -> int:
        """How many conversations there are."""
        return len(np.unique(self.session))

    def where(self, kept: Bools | Ints) -> "Signals":
        """Some of the questions."""
        names = [field.name for field in fields(self) if field.name != "in_force"]
        return replace(self, **{name: getattr(self, name)[kept] for name in names})


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
        turn=np.array([record.turn for record in records], np.int64),
        proposed=np.where(direct, np.nan, _points(records, proposed)),
        draft=_points(records, drafts),
        draft_confidence=measured("draft_confidence"),
        p_direct=measured("p_direct"),
        answer_confidence=measured("answer_confidence"),
        token_min=measured("token_min"),
        token_mean=measured("token_mean"),
        token_grammar=measured("token_grammar"),
        support=measured("support"),
        evidence_support=measured("evidence_support"),
        judged=measured("judged"),
        judge_asked=measured("judge_asked") > 0.0,
        judge_first=measured("judge_first") > 0.0,
        citable=(measured(CITABLE) > 0.0) & ~(measured("withheld") > 0.0),
        went_direct=direct,
        given=np.array([bool(r.answer and not r.answer.abstained) for r in records], bool),
    )


def basis_of(signals: Signals) -> str:
    """Over which tokens the probabilities of this run are; empty where nobody told any."""
    held, free = int((signals.token_grammar > 0).sum()), int((signals.token_grammar == 0).sum())
    if held and free:
        return f"under a grammar ({held} answers) and over the whole vocabulary ({free}), which are not alike"
    return "under a grammar" if held else "over the whole vocabulary" if free else ""


def unmeasured_of(signals: Signals) -> int:
    """Return how many proposed answers have no measured confidence."""
    return int((~np.isnan(signals.proposed) & np.isnan(signals.answer_confidence)).sum())


def _explanation(record: TurnRecord) -> Explanation:
    found = record.answer.explanation if record.answer else None
    return found or Explanation()


def _points(records: Sequence[TurnRecord], judgements: Mapping[str, Judgement]) -> Floats:
    found = [judgements.get(record.interaction_id) for record in records]
    return np.array([np.nan if one is None else one.verdict.points for one in found], np.float64)


def joined(parts: Sequence[Signals]) -> Signals:
    """Several as one; conversations of different parts are different conversations."""
    first = parts[0]
    names = [field.name for field in fields(first) if field.name not in ("in_force", "session")]
    offsets = np.cumsum([0, *(int(part.session.max(initial=-1)) + 1 for part in parts)])
    session = np.concatenate([part.session + offset for part, offset in zip(parts, offsets, strict=False)])
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in names
    }
    return replace(first, session=session, **columns)
