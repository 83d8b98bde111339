"""The judge that needs no model: rules over the known truth, or over a gold sentence.

Follows CRAG-MM's protocol (Wang et al. 2025, section 3.3): the first 75 tokens count; "I don't know" is
missing; anything else is correct or a hallucination. One rule for each type of answer:

- number: a quantity of the right dimension and value; the units may differ.
- date: every part of the true date is given, in any format.
- span: a gold stretch stands in the answer as whole words, by SQuAD's normalisation.
- name, text: an accepted spelling stands in the answer and is not denied.
- set: every member is named, in any order.
- boolean: the answer says yes or no, or repeats or denies what was asked.
- unanswerable: only a refusal is right.

An answer that asserts a `must_not`, or offers many values to choose from, is wrong.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from evaluation.data.model import AnswerType, Truth
from evaluation.judging.quantities import (
    NUMBER_WORDS,
    CalendarDate,
    Quantity,
    dates,
    plain_numbers,
    quantities,
    singular,
)
from evaluation.judging.spans import says
from evaluation.judging.text import Token, canonical, claim, is_refusal, negated, tokens, truncate
from evaluation.judging.verdicts import Case, Judgement, Verdict

_MOST_READ = 800
"""Characters that are read: enough for 75 tokens and for a gold of a few sentences."""
_MOST_OTHER_VALUES = 2
_COMMON = re.compile(
    r"an?|the|is|are|was|were|be|been|its?|this|that|these|those|of|in|on|at|by|for|from|to|with|and|or|as|has"
    r"|have|had|do|does|did|can|could|will|would|should|may|might|there|them|they|their|he|she|his|her|your?|i"
    r"|me|my|we|our|which|who|whom|what|when|where|how|also|about|typically|usually|s"
)
_DENIALS = {"not", "no", "never", "cannot", "without", "neither", "nor", "none"}
_HOW_MUCH = re.compile(
    r"\bhow (?!often|do|does|did|is|are|can)\w+|\b(?:price|cost|weight|population|range)\b", re.I
)
_WHEN = re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date|day)\b", re.I)
_WHO = re.compile(r"\bwho(?:se|m)?\b", re.I)
_PERSON = re.compile(r"[A-Z][\w'’-]+(?: (?:(?:de|la|van|von|der|du|del|da|al|and) )*[A-Z][\w'’-]+)+")
_INTRODUCED = re.compile(r"\b(?:by|to|is|was|are|were|called|named) $")
_COPULA = re.compile(r"\b(?:is|are|was|were|has|have)\b")
_CLOCK = re.compile(r"\b\d{1,2}(?:[:.]\d{2})?\s*[ap]\.?m\b|\b\d{1,2}:\d{2}\b", re.I)
_TIME = re.compile(r"t\d{4}")
_LIST = re.compile(r",.+\b(?:and|or)\b|\b[\w ]+, [\w ]+,")
_OPENING = re.compile(r"\W*(?:(?:the answer|answer|it says|i think|i believe)\W*(?:is|so)?\W*)?(yes|no)\b")
_CLAUSE = re.compile(r"[,;:()\n]|\.\s|\b(?:but|rather|while|whereas|although|though|however|unlike)\b", re.I)
_NOT_BEFORE = re.compile(
    r"(?:\b(?:not|never|neither|nor|than)|n['’]t)(?:\s+[\w€$£%-]+){0,3}\s*$|\bper\s+$", re.I
)
_OR = re.compile(r"[\s,]*\bor\b(?:\s+(?:maybe|possibly|perhaps|even))?[\s€$£]*", re.I)
_Value = TypeVar("_Value", Quantity, CalendarDate)


class RuleJudge:
    """Gives the same verdict every time, at once, and a reason that names the rule."""

    name = "rules"

    async def judge(self, case: Case) -> Judgement:
        """Return the verdict."""
        return judge_by_rules(case)


def judge(
    answer: str, truth: Truth, question: str = "", gold: str = "", *, abstained: bool = False
) -> Judgement:
    """Return the verdict on `answer`. `gold` is the truth as a sentence; repeating it is right."""
    return judge_by_rules(Case("", question, gold, truncate(answer), truth, abstained))


def judge_by_rules(case: Case) -> Judgement:
    """Return the verdict on a cut answer, by the truth in parts or, without one, by the gold sentence."""
    if case.failed:
        return Judgement(Verdict.MISSING, "the request failed")
    answer, question, gold = (text[:_MOST_READ] for text in (case.answer, case.question, case.gold))
    truth = case.truth
    if case.abstained or is_refusal(answer):
        return Judgement(Verdict.MISSING, "refused")
    if truth.answer_type is AnswerType.UNANSWERABLE if truth is not None else is_refusal(gold):
        return Judgement(Verdict.INCORRECT, "answered what cannot be known")
    if gold and answer.strip().lower() == gold.strip().lower():
        return Judgement(Verdict.CORRECT, "exact")
    if truth is None:
        objection, rule = _against_sentence(answer, gold, question), "gold sentence"
    else:
        objection, rule = _RULES[truth.answer_type](answer, truth, question), truth.answer_type.value
        objection = objection or _against_claims(answer, truth)
    return Judgement(Verdict.INCORRECT if objection else Verdict.CORRECT, objection or rule)


def _against_sentence(answer: str, gold: str, question: str) -> str:
    """Return why the answer does not say what the gold sentence does; empty if it does."""
    if opening := _OPENING.match(canonical(gold)):
        return _against_yes_or_no(answer, opening[1], question)
    asked = {each.readings for each in quantities(question)}
    new = [each for each in quantities(_CLOCK.sub("", gold)) if each.readings not in asked]
    if _HOW_MUCH.search(question) and new:
        words = {singular(word) for word in re.findall(r"\w+", question)}
        wanted = sorted(new, key=lambda each: (each.noun not in words, each.unit is None))[0]
        return _against_number(answer, wanted, question)
    if _WHEN.search(question) and (golds := _fullest(gold, question)):
        return _against_date(answer, golds, question)
    if _WHO.search(question) and (people := _people(gold, question)):
        return "" if all(find([name.split()[-1]], tokens(answer)) for name in people) else "not named"
    return _against_words(answer, gold, question, new)


def _people(gold: str, question: str) -> list[str]:
    """Return the person that the gold sentence names, or the two that it joins; the last name is enough."""
    names = [each for each in _PERSON.finditer(gold) if canonical(each[0]) not in canonical(question)]
    introduced = [each for each in names if _INTRODUCED.search(gold[: each.start()])] or names
    return introduced[0][0].split(" and ") if introduced else []


def _against_words(answer: str, gold: str, question: str, numbers: Sequence[Quantity]) -> str:
    asked, answered, wanted = set(_words(question)), _words(answer), _words(gold)
    if bool(_DENIALS & set(wanted)) != bool(_DENIALS & set(answered)):
        return "one denies and the other does not"
    given = quantities(answer)
    if not all(any(each.meets(number) for each in given) for number in numbers):
        return "another value"
    if any(number.unit for number in numbers):
        return ""
    rest = _words(_COPULA.split(gold, maxsplit=1)[-1]) or wanted
    new = set(rest) - asked or set(wanted) - asked or set(wanted)
    found = len(new & set(answered))
    if any(word not in answered for word in new if _TIME.fullmatch(word)):
        return "another time"
    least = len(new) if _LIST.search(gold) else len(new) // 2 + 1
    return "" if found >= least else f"{found} of {len(new)} words"


def _words(text: str) -> list[str]:
    """Return the words that carry meaning, in one number, in order; a number is one word, in digits."""
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", plain_numbers(text).replace("n't", " not"))
    plain = re.sub(r"(?<![\w)])-(?=\d)", " minus", re.sub(r"(?<=\d)\.(?=\d)", "point", plain))
    words = (token.word for token in tokens(plain) if not _COMMON.fullmatch(token.word))
    return [str(NUMBER_WORDS[word]) if word in NUMBER_WORDS else singular(word) for word in words]


def _against_number_truth(answer: str, truth: Truth, question: str) -> str:
    if isinstance(truth.value, bool) or not isinstance(truth.value, int | float):
        return _against_name(answer, truth, question)
    (unit, noun), *_ = [(each.unit, each.noun) for each in quantities(f"1 {truth.unit or ''}")]
    return _against_number(answer, Quantity((float(truth.value),), 1.0, unit, noun, 0, 0), question)


def _against_number(answer: str, true: Quantity, question: str) -> str:
    plain = plain_numbers(answer)
    asserted = [
        each
        for each in quantities(answer)
        if not _denied(plain, each.start)
        and (each.unit is None or (true.unit is not None and each.unit.dimension == true.unit.dimension))
    ]
    named = [each for each in asserted if each.unit is not None or (each.noun and each.noun == true.noun)]
    asked = [(each.readings, each.unit) for each in quantities(question)]
    asserted = named or asserted
    asserted = [each for each in asserted if (each.readings, each.unit) not in asked] or asserted
    return _against_choice(plain, asserted, [each.meets(true) for each in asserted])


def _against_date_truth(answer: str, truth: Truth, question: str) -> str:
    golds = dates(str(truth.value)) if truth.value is not None else []
    return _against_date(answer, golds, question) if golds else _against_name(answer, truth, question)


def _against_date(answer: str, golds: Sequence[CalendarDate], question: str) -> str:
    plain, asked = canonical(answer), [date.parts for date in dates(question)]
    asserted = [date for date in dates(answer) if not _denied(plain, date.start)]
    asserted = [date for date in asserted if date.parts not in asked] or asserted
    return _against_choice(plain, asserted, [date.meets(golds[0]) for date in asserted])


def _fullest(gold: str, question: str) -> list[CalendarDate]:
    """Return the dates of the gold sentence that the question does not give, the fullest first."""
    asked = [date.parts for date in dates(question)]
    found = [date for date in dates(gold) if date.parts not in asked]
    return sorted(found, key=lambda date: date.parts.count(None))


def _against_choice(plain: str, values: Sequence[_Value], right: Sequence[bool]) -> str:
    """Return why none of the values is right, or why the right one is only one of several on offer."""
    if not any(right):
        return "another value" if values else "no value"
    pairs = list(zip(values, right, strict=True))
    if len({plain[value.start : value.end] for value, good in pairs if not good}) > _MOST_OTHER_VALUES:
        return "a list of values"
    for (one, good), (two, fine) in pairwise(pairs):
        if good != fine and _OR.fullmatch(plain[one.end : two.start]):
            return "one value or another"
    return ""


def _denied(plain: str, start: int) -> bool:
    """Whether the value at `start` is denied, or is only what something else is measured by."""
    return bool(_NOT_BEFORE.search(_CLAUSE.split(plain[:start])[-1]))


def _against_name(answer: str, truth: Truth, _: str) -> str:
    words = claim(tokens(answer)) if truth.contrast else tokens(answer)
    rivals = find((*truth.contrast, *truth.must_not), words)
    named = [
        each for each in find(truth.accepted, words) if not any(_longer(each, rival) for rival in rivals)
    ]
    if not named:
        return "not named"
    others = [each for each in find(truth.contrast, words) if not _within(each, named)]
    return "another is named first" if others and others[0][0] < named[0][0] else ""


def _against_span(answer: str, truth: Truth, _: str) -> str:
    return "" if says(answer, truth.accepted) else "without a gold stretch"


def _against_set(answer: str, truth: Truth, _: str) -> str:
    members = truth.value if isinstance(truth.value, list) else truth.accepted
    absent = [member for member in members if not find([member], tokens(answer))]
    return f"without {len(absent)} of {len(members)}" if absent else ""


def _against_yes_or_no_truth(answer: str, truth: Truth, question: str) -> str:
    right = "yes" if truth.value is True or "yes" in truth.accepted else "no"
    return _against_yes_or_no(answer, right, question)


def _against_yes_or_no(answer: str, right: str, question: str) -> str:
    opening = _OPENING.match(canonical(answer))
    stance = opening[1] if opening else _stance(answer, question)
    return "" if stance == right else f"says {stance or 'neither yes nor no'}"


def _stance(answer: str, question: str) -> str:
    """Return `yes` or `no` for an answer that repeats most of the question or denies it, else nothing."""
    asked, answered = _words(question), _words(_CLAUSE.split(answer, maxsplit=1)[0])
    shared = set(asked) & set(answered) - _DENIALS
    if "than" in asked and asked[asked.index("than") :] != answered[-len(asked[asked.index("than") :]) :]:
        return ""
    if 2 * len(shared) <= len(set(asked) - _DENIALS):
        return ""
    return "no" if _DENIALS & set(answered) else "yes"


def _against_claims(answer: str, truth: Truth) -> str:
    """Object to a `must_not` that is asserted, unless it is part of a right name."""
    words = claim(tokens(answer)) or tokens(answer)
    members = truth.value if isinstance(truth.value, list) else ()
    wrong = set(truth.must_not) - ({"yes", "no"} if truth.answer_type is AnswerType.BOOLEAN else set())
    right = find((*truth.accepted, *members), words)
    return "" if all(_within(each, right) for each in find(wrong, words)) else "asserts what must not be"


_Place = tuple[int, int]


def find(names: Iterable[str], words: Sequence[Token]) -> list[_Place]:
    """Return where the words name one of `names` without a denial; spaces in a name do not count."""
    found = []
    for wanted in names:
        parts = [token.word for token in tokens(wanted)]
        while len(parts) > 1 and parts[0] in {"the", "a", "an"}:
            parts.pop(0)
        for start in range(len(words)) if parts else ():
            for end in range(start + 1, min(len(words), start + len(parts) + 2) + 1):
                if _joined([token.word for token in words[start:end]]) == _joined(parts):
                    found.append((start, end))
    return sorted(place for place in found if not negated(words, place[0]))


def _joined(words: Sequence[str]) -> str:
    """Join words without spaces; two numbers stay apart, so that "2 4" is not 24."""
    return re.sub(r"(?<=\d) (?=\d)", "-", " ".join(words)).replace(" ", "")


def _within(place: _Place, others: Sequence[_Place]) -> bool:
    return any(other[0] <= place[0] and place[1] <= other[1] for other in others)


def _longer(place: _Place, other: _Place) -> bool:
    return _within(place, [other]) and place != other


_RULES: dict[AnswerType, Callable[[str, Truth, str], str]] = {
    AnswerType.NUMBER: _against_number_truth,
    AnswerType.DATE: _against_date_truth,
    AnswerType.NAME: _against_name,
    AnswerType.TEXT: _against_name,
    AnswerType.SPAN: _against_span,
    AnswerType.SET: _against_set,
    AnswerType.BOOLEAN: _against_yes_or_no_truth,
}
