"""The judge that needs no model: rules over the truth, or over what can be derived from a gold sentence."""

from evaluation.judging.derive import derive
from evaluation.judging.judge import judge_cut
from evaluation.judging.port import Case, Judgement, Verdict
from evaluation.judging.text import is_refusal
from evaluation.judging.words import objection_by_words

_MOST_READ = 800
"""Characters: an answer of 75 tokens and a gold of a few sentences fit; patterns need not bear more."""


class RuleJudge:
    """The same verdict every time, at once, and a reason that names the rule."""

    name = "rules"

    async def judge(self, case: Case) -> Judgement:
        """The verdict."""
        return judge_by_rules(case)


def judge_by_rules(case: Case) -> Judgement:
    """The verdict on a cut answer. Where there is no truth in parts, `why` says what was derived."""
    if case.failed:
        return Judgement(Verdict.MISSING, "the request failed")
    answer, question, gold = (text[:_MOST_READ] for text in (case.answer, case.question, case.gold))
    if case.truth is not None:
        return judge_cut(answer, case.truth, question, gold, abstained=case.abstained)
    derived = derive(gold, question, case.interaction_id)
    if derived.by_words and not (case.abstained or is_refusal(answer)):
        objection = objection_by_words(answer, str(derived.truth.value), question)
        verdict = Verdict.INCORRECT if objection else Verdict.CORRECT
        return Judgement(verdict, f"{objection or 'says most words'} [{derived.how}]")
    judged = judge_cut(answer, derived.truth, question, gold, abstained=case.abstained)
    return Judgement(judged.verdict, f"{judged.why} [{derived.how}]")
