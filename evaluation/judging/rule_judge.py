"""The judge that needs no model: rules over the known truth or, without one, over the gold sentence.

Follows CRAG-MM's protocol (Wang et al. 2025, section 3.3): the first 75 tokens count, "I don't know" is
missing, anything else is correct or a hallucination. One rule for each type of answer:

- number: a number of the right value; in another unit of the same dimension, within 1 %
- date: every part of the true date is given
- span: a gold span stands in the answer as whole words, by SQuAD's normalisation
- name, text: an accepted spelling stands in the answer and is not denied
- set: every member is named, in any order
- boolean: the answer opens with yes or no, or repeats or denies the question
- unanswerable: only a refusal is right

For questions of InfoSeek, E-VQA and OK-VQA their released scorers decide; half a point is right.

An answer that asserts a `must_not`, or offers several values to choose from, is wrong.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from evaluation.data.model import AnswerType, Truth
from evaluation.judging.benchmarks import judge_by_benchmark
from evaluation.judging.quantities import NUMBER_WORDS, Quantity, dates, plain_text, quantities, singular
from evaluation.judging.text import is_refusal, repeats, says
from evaluation.judging.verdicts import Case, Judgement, Verdict

_MOST_READ = 800
"""Characters that are read: enough for 75 tokens and for a gold answer of a few sentences."""
_MOST_OTHER_VALUES = 2


class RuleJudge:
    """Gives the same verdict every time, and a reason that names the rule."""

    name = "rules"

    async def judge(self, case: Case) -> Judgement:
        return judge_by_rules(case)


def judge_by_rules(case: Case) -> Judgement:
    """Return the verdict on a cut answer, by the truth in parts or, without one, by the gold sentence."""
    if case.failed:
        return Judgement(Verdict.MISSING, "the request failed")
    answer, question, gold = (text[:_MOST_READ] for text in (case.answer, case.question, case.gold))
    truth = case.truth
    if truth is not None and truth.scorer is not None:
        return judge_by_benchmark(case, truth)
    if case.abstained or is_refusal(answer):
        return Judgement(Verdict.MISSING, "refused")
    if truth.answer_type is AnswerType.UNANSWERABLE if truth is not None else is_refusal(gold):
        return Judgement(Verdict.INCORRECT, "answered what cannot be known")
    if gold and repeats(answer, gold):
        return Judgement(Verdict.CORRECT, "exact")
    if truth is not None and truth.answer_type is AnswerType.SPAN:  # SQuAD has its own spelling
        objection = "" if says(answer, truth.accepted) else "without a gold stretch"
        return Judgement(Verdict.INCORRECT if objection else Verdict.CORRECT, objection or "span")
    answer, question = plain_text(answer), plain_text(question)
    if truth is None:
        objection, rule = _check_sentence(answer, plain_text(gold), question), "gold sentence"
    else:
        check, rule = _CHECKS[truth.answer_type], truth.answer_type.value
        objection = check(answer, truth, question) or _check_claims(answer, truth)
    return Judgement(Verdict.INCORRECT if objection else Verdict.CORRECT, objection or rule)


def _check_number_truth(answer: str, truth: Truth, question: str) -> str:
    if isinstance(truth.value, bool) or not isinstance(truth.value, int | float):
        return _check_name(answer, truth, question)
    like = quantities(f"1 {plain_text(truth.unit or '')}")[0]
    return _check_number(answer, Quantity(float(truth.value), like.unit, like.noun), question)


def _check_number(answer: str, true: Quantity, question: str) -> str:
    dimension = true.unit[0] if true.unit else ""
    stated = [
        each
        for each in quantities(answer)
        if not _is_denied(answer, each.start) and (each.unit is None or each.unit[0] == dimension)
    ]
    stated = [each for each in stated if each.unit or (each.noun and each.noun == true.noun)] or stated
    question_values = [(each.value, each.unit) for each in quantities(question)]
    stated = [each for each in stated if (each.value, each.unit) not in question_values] or stated
    return _check_choice(answer, [(each.start, each.end, each.meets(true)) for each in stated])


def _check_date_truth(answer: str, truth: Truth, question: str) -> str:
    golds = dates(plain_text(str(truth.value)))
    return _check_date(answer, golds[0][0], question) if golds else _check_name(answer, truth, question)


def _check_date(answer: str, true: tuple[int | None, ...], question: str) -> str:
    question_dates = [parts for parts, _, _ in dates(question)]
    stated = [date for date in dates(answer) if not _is_denied(answer, date[1])]
    stated = [date for date in stated if date[0] not in question_dates] or stated
    return _check_choice(answer, [(start, end, _same_day(parts, true)) for parts, start, end in stated])


def _same_day(parts: tuple[int | None, ...], true: tuple[int | None, ...]) -> bool:
    """Return whether every part of the true date is given; day and month are tried both ways."""
    readings = (parts, (parts[0], parts[2], parts[1]))
    return any(
        all(part in (None, other) for part, other in zip(true, each, strict=True)) for each in readings
    )


_CLAUSE = re.compile(r"[,;:()!?\n]|\.\s|\b(?:but|rather|instead|however|while|whereas|although|unlike)\b")
_DENIAL = re.compile(
    r"(?:\b(?:not|never|neither|nor|without|cannot|than|isn't|wasn't|aren't)|n't)(?:\s+[\w€$£%'-]+){0,3}\s*$"
)
_CONTRAST = re.compile(
    r"\b(?:while|whereas|although|though|but|against|than|compared|versus|vs|unlike|formerly|previously)\b"
)
_OR = re.compile(r"[\s,]*\bor\b(?:\s+(?:maybe|possibly|perhaps|even))?[\s€$£]*")
_YES_OR_NO = re.compile(r"\W*(?:(?:the answer|answer|it says|i think|i believe)\W*(?:is|so)?\W*)?(yes|no)\b")
_DENIALS = {"not", "no", "never", "cannot", "without", "neither", "nor", "none"}
_Place = tuple[int, int]


def _is_denied(plain: str, start: int) -> bool:
    """Return whether the words before `start` deny it in its clause, or only compare something with it."""
    return bool(_DENIAL.search(_CLAUSE.split(plain[:start])[-1]))


def _check_choice(plain: str, values: Sequence[tuple[int, int, bool]]) -> str:
    """Return why none of the values is right, or why the right one is only one of several."""
    if not any(right for _, _, right in values):
        return "another value" if values else "no value"
    if len({plain[start:end] for start, end, right in values if not right}) > _MOST_OTHER_VALUES:
        return "a list of values"
    for (_, end, one), (start, _, other) in pairwise(values):
        if one != other and _OR.fullmatch(plain[end:start]):
            return "one value or another"
    return ""


def find(names: Iterable[str], plain: str) -> list[_Place]:
    """Return where the text names one of `names` without denying it, however the name is spaced."""
    places = []
    for name in names:
        words = re.findall(r"[^\W_]+", re.sub(r"^(?:the|an?)\b(?=.)", "", plain_text(name)))
        pattern = "".join(
            re.escape(word) + (r"[\W_]+" if word[-1:].isdigit() and after[:1].isdigit() else r"[\W_]*")
            for word, after in zip(words, [*words[1:], ""], strict=True)
        ).removesuffix(r"[\W_]*")
        if words:
            places += [match.span() for match in re.finditer(rf"(?<![^\W_]){pattern}(?![^\W_])", plain)]
    return sorted(place for place in places if not _is_denied(plain, place[0]))


def _claim(plain: str) -> str:
    """Return what is asserted before the answer turns to something else ("A, while B", "A rather than B")."""
    if (opening := _CONTRAST.match(plain)) and "," in plain:
        return " " * (plain.index(",", opening.end() - 1) + 1) + _claim(plain.partition(",")[2])
    return _CONTRAST.split(plain, maxsplit=1)[0]


def _within(place: _Place, others: Sequence[_Place]) -> bool:
    return any(other[0] <= place[0] and place[1] <= other[1] for other in others)


def _check_name(answer: str, truth: Truth, _: str) -> str:
    text = _claim(answer) if truth.contrast else answer
    rivals = find((*truth.contrast, *truth.must_not), text)
    right = find(truth.accepted, text)
    named = [each for each in right if not any(_within(each, [rival]) and each != rival for rival in rivals)]
    if not named:
        return "not named"
    others = [each for each in find(truth.contrast, text) if not _within(each, named)]
    return "another is named first" if others and others[0][0] < named[0][0] else ""


def _check_set(answer: str, truth: Truth, _: str) -> str:
    members = truth.value if isinstance(truth.value, list) else truth.accepted
    absent = [member for member in members if not find([member], answer)]
    return f"without {len(absent)} of {len(members)}" if absent else ""


def _check_claims(answer: str, truth: Truth) -> str:
    """Object to a `must_not` that is asserted, unless it is part of a right name."""
    text = _claim(answer) if _claim(answer).strip() else answer
    members = truth.value if isinstance(truth.value, list) else ()
    wrong = set(truth.must_not) - ({"yes", "no"} if truth.answer_type is AnswerType.BOOLEAN else set())
    right = find((*truth.accepted, *members), text)
    return "" if all(_within(each, right) for each in find(wrong, text)) else "asserts what must not be"


def _check_boolean(answer: str, truth: Truth, question: str) -> str:
    return _check_yes_or_no(
        answer, "yes" if truth.value is True or "yes" in truth.accepted else "no", question
    )


def _check_yes_or_no(answer: str, right: str, question: str) -> str:
    opening = _YES_OR_NO.match(answer)
    stance = opening[1] if opening else _stance(answer, question)
    return "" if stance == right else f"says {stance or 'neither yes nor no'}"


def _stance(answer: str, question: str) -> str:
    """Return `yes` or `no` for an answer that repeats most of the question or denies it, else nothing."""
    question_words, answered = set(_meaning(question)), set(_meaning(_CLAUSE.split(answer, maxsplit=1)[0]))
    if 2 * len((question_words & answered) - _DENIALS) <= len(question_words - _DENIALS):
        return ""
    return "no" if _DENIALS & answered else "yes"


_FUNCTION_WORD = re.compile(
    r"an?|the|is|are|was|were|be|been|its?|this|that|these|those|of|in|on|at|by|for|from|to|with|and|or|as|has"
    r"|have|had|do|does|did|can|could|will|would|should|may|might|there|them|they|their|he|she|his|her|your?|i"
    r"|me|my|we|our|which|who|whom|what|when|where|how|also|about|typically|usually|s"
)
_HOW_MUCH = re.compile(
    r"\bhow (?!often|do|does|did|is|are|can)\w+|\b(?:price|cost|weight|population|range)\b"
)
_LIST = re.compile(r",.+\b(?:and|or)\b")
_WHEN = re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date|day)\b")


def _check_sentence(answer: str, gold: str, question: str) -> str:
    """Return why the answer does not say what the gold sentence does; empty if it does."""
    if opening := _YES_OR_NO.match(gold):
        return _check_yes_or_no(answer, opening[1], question)
    question_values = {each.value for each in quantities(question)}
    numbers = [each for each in quantities(gold) if each.value not in question_values]
    if _HOW_MUCH.search(question) and numbers:
        words = {singular(word) for word in re.findall(r"\w+", question)}
        wanted = min(numbers, key=lambda each: (each.noun not in words, each.unit is None))
        return _check_number(answer, wanted, question)
    if _WHEN.search(question) and (golds := dates(gold)):
        return _check_date(answer, min(golds, key=lambda date: date[0].count(None))[0], question)
    return _check_words(answer, gold, question, numbers)


def _check_words(answer: str, gold: str, question: str, numbers: Sequence[Quantity]) -> str:
    question_words, answered, wanted = (set(_meaning(text)) for text in (question, answer, gold))
    if bool(_DENIALS & wanted) != bool(_DENIALS & answered):
        return "one denies and the other does not"
    given = quantities(answer)
    if not all(any(each.meets(number) for each in given) for number in numbers):
        return "another value"
    if any(number.unit for number in numbers):
        return ""
    new = wanted - question_words or wanted
    matches = len(new & answered)
    least = len(new) if _LIST.search(gold) else len(new) // 2 + 1 if new else 0
    return "" if matches >= least else f"{matches} of {len(new)} words"


def _meaning(plain: str) -> list[str]:
    """Return the words that carry meaning, singular; numbers in digits."""
    words = re.findall(r"[^\W_]+", plain.replace("n't", " not"))
    return [
        str(NUMBER_WORDS.get(word, singular(word))) for word in words if not _FUNCTION_WORD.fullmatch(word)
    ]


_CHECKS: dict[AnswerType, Callable[[str, Truth, str], str]] = {
    AnswerType.NUMBER: _check_number_truth,
    AnswerType.DATE: _check_date_truth,
    AnswerType.NAME: _check_name,
    AnswerType.TEXT: _check_name,
    AnswerType.SET: _check_set,
    AnswerType.BOOLEAN: _check_boolean,
}
