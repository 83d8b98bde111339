"""The drafts of a run as rows: what the search router saw of each, and whether a judge finds it right.

`loreglass train data` writes them as samples and `loreglass train head search-router` fits a router on those
(QA-Dragon, section 3.2: its router is trained on features of its own drafts).
"""

from dataclasses import dataclass

from evaluation.calibration.cutoffs import CalibrationError
from evaluation.calibration.proposals import DRAFT, Judging, pipeline_of, thresholds_of, verdicts_on_answers
from evaluation.judging.port import Judgement, Verdict
from evaluation.record import TurnRecord
from evaluation.runs.store import Run
from loreglass_client.models import Answer

_FEATURE = "draft_"
_DRAFT_STAGE = "draft"  # as the gateway's `degraded` names it
_ROUTED = "p_verify"
_CONFIDENCE = "draft_confidence"


@dataclass(frozen=True, slots=True)
class DraftRow:
    """`features`: by name, as the gateway told them. `system`: the pipeline with the gateway's version."""

    record: TurnRecord
    features: dict[str, float]
    right: bool
    system: str
    judge: str


@dataclass(frozen=True, slots=True)
class Drafts:
    """How many are left out: `fallback`, of a reasoner that stood in for another; `unmeasured`, without a
    confidence; `unjudged`, on which the judge gave no verdict.
    """

    rows: tuple[DraftRow, ...]
    fallback: int
    unmeasured: int
    unjudged: int


async def drafts_of(run: Run, judging: Judging) -> Drafts:
    """A row for every draft with an answer; a question without one needs no router.

    Raises `CalibrationError` for a run that explains nothing or tells no features, and `JudgeDown`.
    """
    thresholds_of(run)
    verdicts, unjudged = await verdicts_on_answers(run, judging, DRAFT)
    rows, fallback, unmeasured, failed = list[DraftRow](), 0, 0, 0
    for record in run.records:
        answer, judgement = record.answer, verdicts.get(record.interaction_id)
        if answer is None or judgement is None or _ROUTED not in _signals(answer):
            continue
        if _DRAFT_STAGE in answer.degraded:
            fallback += 1
        elif _CONFIDENCE not in _signals(answer):
            unmeasured += 1
        elif record.interaction_id in unjudged:
            failed += 1
        else:
            rows.append(_row(run, record, answer, judgement, judging.judge.name))
    if not rows and not unmeasured:
        raise CalibrationError(
            f"{run.folder}: no draft came to a search router. Ask with a pipeline that has a search router "
            "(loreglass, qa-dragon)."
        )
    return Drafts(tuple(rows), fallback, unmeasured, failed)


def _row(run: Run, record: TurnRecord, answer: Answer, judgement: Judgement, judge: str) -> DraftRow:
    return DraftRow(
        record=record,
        features={
            name.removeprefix(_FEATURE): value
            for name, value in _signals(answer).items()
            if name.startswith(_FEATURE)
        },
        right=judgement.verdict is Verdict.CORRECT,
        system=f"{pipeline_of(run)} {run.header.version}".strip(),
        judge=judge,
    )


def _signals(answer: Answer) -> dict[str, float]:
    return answer.explanation.signals if answer.explanation else {}
