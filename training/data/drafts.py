"""Drafts as samples, with their features as the search router saw them (QA-Dragon, section 3.2)."""

from collections import Counter
from dataclasses import dataclass

from evaluation.calibration.proposals import DRAFT, Judging, pipeline_of, thresholds_of, verdicts_on_answers
from evaluation.calibration.replay import CalibrationError
from evaluation.judging.verdicts import Verdict
from evaluation.runs.store import Run
from training.data.turns import origin_of, run_identity
from training.samples import DraftSample, Task, digest, part_of

_FEATURE = "draft_"
_STAGE = "draft"  # as the gateway's `degraded` names it
_ROUTED = "p_verify"
_CONFIDENCE = "draft_confidence"
UNMEASURED = "no measured confidence"


@dataclass(frozen=True, slots=True)
class Drafts:
    """`unused`: how many are left out, by reason; `unjudged`: how many have no verdict."""

    samples: tuple[DraftSample, ...]
    unused: Counter[str]
    unjudged: int


async def drafts_of(run: Run, judging: Judging, seed: int, held_out: float) -> Drafts:
    """Return a sample of each draft that has an answer.

    Raises `CalibrationError` for a run without explanations or features, and `JudgeDown`.
    """
    thresholds_of(run)
    verdicts, unjudged = await verdicts_on_answers(run, judging, DRAFT)
    samples, unused, failed = list[DraftSample](), Counter[str](), 0
    for record in run.records:
        answer, judgement = record.answer, verdicts.get(record.interaction_id)
        signals = answer.explanation.signals if answer and answer.explanation else {}
        if answer is None or judgement is None or _ROUTED not in signals:
            continue
        if _STAGE in answer.degraded:
            unused["the draft was a fallback's"] += 1
        elif _CONFIDENCE not in signals:
            unused[UNMEASURED] += 1
        elif record.interaction_id in unjudged:
            failed += 1
        else:
            features = {
                name.removeprefix(_FEATURE): value
                for name, value in signals.items()
                if name.startswith(_FEATURE)
            }
            samples.append(
                DraftSample(
                    id=digest(Task.DRAFT.value, *run_identity(run), record.interaction_id),
                    task=Task.DRAFT,
                    part=part_of(f"{run.header.dataset} {record.session_id}", seed, held_out),
                    origin=origin_of(run, record),
                    features=features,
                    right=judgement.verdict is Verdict.CORRECT,
                    system=f"{pipeline_of(run)} {run.header.version}".strip(),
                    judge=judging.judge.name,
                )
            )
    if not samples and not unused[UNMEASURED]:
        raise CalibrationError(
            f"{run.folder}: no draft came to a search router. Ask with a pipeline that has a search router "
            "(loreglass, qa-dragon)."
        )
    return Drafts(tuple(samples), unused, failed)
