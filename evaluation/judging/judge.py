"""The verdict on one answer, by rules over the known truth.

Follows CRAG-MM's protocol (Wang et al. 2025, section 3.3): the first 75 tokens count; "I don't know" is
missing; anything else is correct or a hallucination. In place of the LLM judge there is one rule a type:

- number: a quantity of the right dimension and value; the units may differ.
- date: every part of the true date is said, in any format.
- span: a gold stretch stands in the answer as whole words, by SQuAD's normalisation.
- name, text: an accepted spelling is asserted; one misread character is forgiven.
- set: every member is named, in any order. boolean: the answer opens with the right yes or no,
  or repeats what was asked, or denies it.
- unanswerable: only a refusal is not a hallucination.

In all types an answer that asserts a `must_not`, or lists many values to choose from, is wrong.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from evaluation.data.model import AnswerType, Truth
from evaluation.judging.dates import dates
from evaluation.judging.names import Mention, find
from evaluation.judging.port import Judgement, Verdict
from evaluation.judging.quantities import Quantity, plain_numbers, quantities, singular
from evaluation.judging.spans import says
from evaluation.judging.text import canonical, claim, is_refusal, tokens, truncate
from evaluation.judging.units import unit_named
from evaluation.judging.words import stance

_MAX_OTHER_VALUES = 2  # an answer that offers more than these beside the right one chose none
_CONVERTED = 0.01
_CONVERTED_AT_MOST = 0.05
_CURRENCIES = frozenset({"euro", "dollar", "pound sterling"})
_HALF_CENT = 0.005
_OPENING = re.compile(r"\W*(?:(?:the answer|answer|it says|i think|i believe)\W*(?:is|so)?\W*)?(yes|no)\b")
_PER = re.compile(r"\bper\s+$", re.I)  # "per 100 g" says of what, not how much
_NEGATION_BEFORE = re.compile(r"(?:\b(?:not|never|neither|nor)|n['’]t)(?:\s+[\w€$£%-]+){0,3}\s*$", re.I)
_OR = re.compile(r"[\s,]*\bor\b(?:\s+(?:maybe|possibly|perhaps|even))?[\s€$£]*", re.I)
_CLAUSE = re.compile(r"[,;:()\n]|\.\s|\bbut\b|\brather\b", re.I)
T = TypeVar("T")


def judge(
    answer: str, truth: Truth, question: str = "", gold: str = "", *, abstained: bool = False
) -> Judgement:
    """The verdict on `answer`. `gold` is the truth as a sentence; repeating it is right by definition."""
    return judge_cut(truncate(answer), truth, question, gold, abstained=abstained)


def judge_cut(
    said: str, truth: Truth, question: str = "", gold: str = "", *, abstained: bool = False
) -> Judgement:
    """The verdict on an answer that is cut to its length already."""
    if abstained or is_refusal(said):
        return Judgement(Verdict.MISSING, "refused")
    if truth.answer_type is AnswerType.UNANSWERABLE:
        return Judgement(Verdict.INCORRECT, "answered what cannot be known")
    if gold and said.strip().lower() == gold.strip().lower():
        return Judgement(Verdict.CORRECT, "exact")
    objection = _RULES[truth.answer_type](said, truth, question)
    return Judgement(
        Verdict.INCORRECT if objection else Verdict.CORRECT, objection or truth.answer_type.value
    )


def _objection_to_number(said: str, truth: Truth, question: str) -> str:
    if isinstance(truth.value, bool) or not isinstance(truth.value, int | float):
        return _objection_to_name(said, truth, question)
    gold = _Measure(float(truth.value), truth.unit or "")
    plain = plain_numbers(said)
    asserted = [q for q in quantities(said) if gold.comparable(q) and not _not_asserted(plain, q.start)]
    asserted = [q for q in asserted if gold.explicit(q)] or asserted
    given = [(q.readings, q.unit) for q in quantities(question)]
    asserted = [q for q in asserted if (q.readings, q.unit) not in given] or asserted
    chosen = _objection_to_choice(plain, asserted, gold.met_by, _span)
    return chosen or _objection_to_claims(said, truth)


def _objection_to_date(said: str, truth: Truth, question: str) -> str:
    golds = dates(str(truth.value)) if truth.value is not None else []
    if not golds:
        return _objection_to_name(said, truth, question)
    plain = canonical(said)
    asserted = [date for date in dates(said) if not _not_asserted(plain, date.start)]
    given = [(date.year, date.month, date.day) for date in dates(question)]
    asserted = [date for date in asserted if (date.year, date.month, date.day) not in given] or asserted
    chosen = _objection_to_choice(
        plain, asserted, lambda date: date.agrees_with(golds[0]), lambda date: (date.start, date.end)
    )
    return chosen or _objection_to_claims(said, truth)


def _objection_to_name(said: str, truth: Truth, _: str) -> str:
    words = tokens(said)
    if truth.contrast:
        words = claim(words)
    rivals = find((*truth.contrast, *truth.must_not), words, slips=False)
    named = [mention for mention in find(truth.accepted, words) if not any(map(mention.inside, rivals))]
    if not named:
        return "not named"
    if any(not mention.exact and any(map(mention.overlaps, rivals)) for mention in named):
        return "the name of another"
    others = [mention for mention in find(truth.contrast, words, slips=False) if not _within(mention, named)]
    if others and others[0].start < named[0].start:
        return "another is named first"
    return _objection_to_claims(said, truth)


def _objection_to_span(said: str, truth: Truth, _: str) -> str:
    return "" if says(said, truth.accepted) else "without a gold stretch"


def _objection_to_set(said: str, truth: Truth, _: str) -> str:
    words = tokens(said)
    members = truth.value if isinstance(truth.value, list) else list(truth.accepted)
    absent = [member for member in members if not find([member], words)]
    if absent:
        return f"without {len(absent)} of {len(members)}"
    return _objection_to_claims(said, truth, also=members)


def _objection_to_boolean(said: str, truth: Truth, question: str) -> str:
    opening = _OPENING.match(canonical(said))
    says = opening[1] if opening else stance(said, question)
    if not says:
        return "opens with neither yes nor no"
    right = "yes" if truth.value is True or "yes" in truth.accepted else "no"
    if says != right:
        return f"says {says}"
    wrong = tuple(text for text in truth.must_not if text not in {"yes", "no"})
    return _objection_to_claims(said, truth.model_copy(update={"must_not": wrong}))


def _objection_to_claims(said: str, truth: Truth, also: Sequence[str] = ()) -> str:
    """A `must_not` that is asserted: not denied, not set against the answer, not part of a right name."""
    words = claim(tokens(said)) or tokens(said)
    right = find((*truth.accepted, *also), words)
    wrong = find(truth.must_not, words, slips=False)
    outside = [mention for mention in wrong if not _within(mention, right)]
    return "asserts what must not be" if outside else ""


def _within(mention: Mention, others: Sequence[Mention]) -> bool:
    return any(other.start <= mention.start and mention.end <= other.end for other in others)


def _objection_to_choice(
    plain: str, asserted: Sequence[T], right: Callable[[T], bool], span: Callable[[T], tuple[int, int]]
) -> str:
    """Nothing right among the values asserted, or the right one is only one of several on offer."""
    verdicts = [right(value) for value in asserted]
    if not any(verdicts):
        return "another value" if asserted else "no value"
    others = {plain[slice(*span(value))] for value, good in zip(asserted, verdicts, strict=True) if not good}
    if len(others) > _MAX_OTHER_VALUES:
        return "a list of values"
    judged = list(zip(asserted, verdicts, strict=True))
    for (one, good), (two, fine) in pairwise(judged):
        if good != fine and _OR.fullmatch(plain[span(one)[1] : span(two)[0]]):
            return "one value or another"
    return ""


def _span(quantity: Quantity) -> tuple[int, int]:
    return quantity.start, quantity.end


def _not_asserted(plain: str, start: int) -> bool:
    """Whether what stands at `start` is denied, or is only what something else is measured by."""
    clause = _CLAUSE.split(plain[:start])[-1]
    return bool(_NEGATION_BEFORE.search(clause) or _PER.search(clause))


@dataclass(frozen=True, slots=True)
class _Measure:
    """The true quantity."""

    value: float
    unit_name: str

    def comparable(self, said: Quantity) -> bool:
        """Whether `said` could be meant as this: the same dimension, or no unit at all."""
        unit = unit_named(self.unit_name)
        if said.unit is None:
            return True
        return unit is not None and unit.dimension == said.unit.dimension

    def explicit(self, said: Quantity) -> bool:
        """Whether `said` carries this unit or count noun, so that bare numbers beside it are others."""
        if said.unit is not None:
            return True
        return bool(said.noun) and said.noun == singular(self.unit_name)

    def met_by(self, said: Quantity) -> bool:
        """Whether one reading of `said` is this quantity, within the precision that is fair to ask."""
        unit = unit_named(self.unit_name)
        own = unit if said.unit is None else said.unit
        if unit is None or own is None or own == unit:
            return any(abs(reading - self.value) <= self._tolerance(said) for reading in said.readings)
        true = unit.to_base(self.value)
        rounding = min(0.5 * said.ulp * own.factor, _CONVERTED_AT_MOST * abs(true))
        slack = max(_CONVERTED * abs(true), rounding)
        return any(abs(own.to_base(reading) - true) <= slack for reading in said.readings)

    def _tolerance(self, said: Quantity) -> float:
        unit = unit_named(self.unit_name)
        if unit is not None and unit.dimension in _CURRENCIES:
            return _HALF_CENT
        if not self.value.is_integer():
            return 0.005 * abs(self.value)
        # A whole measure may have been rounded from what the answer says; a count is exact.
        return 0.5 if unit is not None and said.ulp < 1 else 1e-9


_RULES: dict[AnswerType, Callable[[str, Truth, str], str]] = {
    AnswerType.NUMBER: _objection_to_number,
    AnswerType.DATE: _objection_to_date,
    AnswerType.NAME: _objection_to_name,
    AnswerType.TEXT: _objection_to_name,
    AnswerType.SPAN: _objection_to_span,
    AnswerType.SET: _objection_to_set,
    AnswerType.BOOLEAN: _objection_to_boolean,
}
