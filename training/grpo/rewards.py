"""Wiki-PRF's rewards (section 3.5, equations 12 and 13), each 0 or 1, before their weights.

The form that is checked is the strict one of `gateway.pipelines.wiki_prf.tool_plan`; serving reads leniently.
"""

from dataclasses import dataclass

from evaluation.data.model import Truth
from evaluation.judging.rule_judge import judge_by_rules
from evaluation.judging.text import APPROXIMATE, exact_match
from evaluation.judging.verdicts import Case, Verdict
from gateway.pipelines.wiki_prf.tool_plan import knowledge_in_form, plan_in_form, read_plan
from training.samples import QuestionSample

NAMES = ("answer", "tool_format", "filter_format", "tool_use")


@dataclass(slots=True)
class RolledOut:
    """The texts of one rollout. `plan`, `knowledge`: written by the trained model, None if it was not asked.

    `answer`: written by the frozen base, empty for a refusal.
    """

    plan: str | None = None
    knowledge: str | None = None
    answer: str = ""


def rewards(written: RolledOut, sample: QuestionSample, *, by_scorer: bool = False) -> dict[str, float]:
    """Return the rewards by name."""
    return {
        "answer": answer_reward(written.answer, sample, by_scorer=by_scorer),
        "tool_format": float(written.plan is not None and plan_in_form(written.plan) is not None),
        "filter_format": float(
            written.knowledge is not None and knowledge_in_form(written.knowledge) is not None
        ),
        "tool_use": float(written.plan is not None and read_plan(written.plan) is not None),
    }


def answer_reward(answer: str, sample: QuestionSample, *, by_scorer: bool = False) -> float:
    """Return 1 for a right answer, by exact match with an accepted answer or by the evaluation's rules."""
    if not answer.strip():
        return 0.0
    if not by_scorer:
        return exact_match(answer, [sample.gold, *sample.accepted])
    truth = Truth.model_validate(sample.truth) if sample.truth else None
    case = Case(sample.id, sample.question, sample.gold, APPROXIMATE(answer), truth)
    return float(judge_by_rules(case).verdict in (Verdict.CORRECT, Verdict.ACCEPTABLE))
