"""A truth in parts, made of a gold sentence and its question, where a dataset has nothing better.

CRAG-MM's golds are whole sentences ("The Fjord Weekly costs 4.50 euros."). What the question asks for decides
which part of the sentence is the answer; where none stands out, the answer must say most of its words.
"""

import re
from dataclasses import dataclass

from evaluation.data.model import AnswerType, Truth
from evaluation.judging.clauses import runs, subject_and_rest
from evaluation.judging.dates import dates
from evaluation.judging.quantities import Quantity, plain_numbers, quantities, singular
from evaluation.judging.text import canonical, is_refusal
from evaluation.judging.units import unit_named
from evaluation.judging.words import said_words

_YES_OR_NO = re.compile(r"\W*(yes|no)\b", re.I)
_HOW_MUCH = re.compile(
    r"\bhow (?:many|much|long|tall|old|far|big|large|heavy|high|wide|deep|fast|thick|hot|cold)\b"
    r"|\bwhat(?:'s| is| was| are)? (?:the |its )?(?:[\w'-]+ ){0,3}?(?:price|cost|weight|height|width|length"
    r"|depth|speed|capacity|population|age|percentage|distance|area|volume|temperature|mileage|range|amount|total"
    r"|calories|horsepower|power|rating|score|point|net content|life|period|duration|energy)\b",
    re.I,
)
_WHEN = re.compile(r"\bwhen\b|\bdate\b|\b(?:what|which) (?:year|date|day|month|decade)\b", re.I)
_WHO = re.compile(
    r"\bwho(?:se|m)?\b|\b(?:what|which) \w+ (?:built|wrote|designed|painted|founded|directed|made)\b", re.I
)
_COUNTED = re.compile(r"\bhow many ([^\W\d_]+)", re.I)
_IDENTIFY = re.compile(
    r"\bwho (?:is|are|was) (?:this|that|it|he|she|they)\b"
    r"|\b(?:is|are) (?:this|that|these|those|it|they)\b\W*(?:called\W*)?$"
    r"|\b(?:name|title|called|brand|make|model|species|breed)\b",
    re.I,
)
_HERE = re.compile(r"\bthis(?: [\w-]+){0,2} or\b|\bor(?: \w+)? this\b|\bthe one\b|\bin front of me\b", re.I)
_LIST = re.compile(r"([^,.;:()]+(?:,[^,.;:()]+)+),?\s+(?:and|or|&)\s+([^,.;:()]+)")
_SCALE = re.compile(r"\b(?:thousand|million|billion|k)\b", re.I)
_SIDES = re.compile(
    r"\d\s?(?:[a-z]{1,3}\.?|inch(?:es)?|feet)?\s?(?:[x×]|by)\s?\d|(?<!\d)\d{1,3}\s?[-–]\s?\d", re.I
)
_ASIDE = re.compile(r"\([^()]*\)")
_HALVES_OF_DAYS = frozenset({"am", "pm"})
_LEADS = frozenset({"in", "of", "on", "with", "are", "is", "has", "have", "include", "includes", "both"})
_ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.I)


@dataclass(frozen=True, slots=True)
class Derived:
    """`how`: which part of the gold sentence was taken, for whoever reads the verdict.

    `by_words`: no part stood out, so the truth is only the sentence and is compared word by word.
    """

    truth: Truth
    how: str
    by_words: bool = False


def derive(gold: str, question: str, interaction_id: str = "") -> Derived:
    """The truth that the gold sentence states in answer to the question."""

    def truth(kind: AnswerType, **parts: object) -> Truth:
        return Truth.model_validate({"interaction_id": interaction_id, "answer_type": kind, **parts})

    if is_refusal(gold):
        return Derived(truth(AnswerType.UNANSWERABLE), "the gold is a refusal")
    if opening := _YES_OR_NO.match(gold):
        right = opening[1].lower()
        return Derived(
            truth(AnswerType.BOOLEAN, value=right == "yes", accepted=[right]), f"the gold says {right}"
        )
    subject, rest = subject_and_rest(gold)
    if _asks(_WHEN, question, before=_HOW_MUCH) and (date := _date(gold, question)):
        return Derived(truth(AnswerType.DATE, value=date, accepted=[date]), f"date {date}")
    if chosen := _chosen(subject, gold, question):
        others = [run.text for run in runs(gold) if canonical(run.text) not in canonical(chosen)]
        accepted = [chosen, *(["this one"] if _HERE.search(question) and chosen in subject else [])]
        parts: dict[str, object] = {"value": chosen, "accepted": accepted, "contrast": others}
        return Derived(truth(AnswerType.NAME, **parts), f"choice {chosen}")
    if quantity := _quantity(gold, rest, question):
        unit = _unit_name(quantity, gold)
        value = quantity.readings[0]
        parts = {"value": int(value) if value.is_integer() else value, "unit": unit or None}
        return Derived(truth(AnswerType.NUMBER, **parts), f"number {value:g} {unit}".rstrip())
    if members := _members(rest, question):
        return Derived(truth(AnswerType.SET, value=members, accepted=members), f"set of {len(members)}")
    if name := _name(gold, rest, question):
        if people := _people(name, question):
            return Derived(truth(AnswerType.SET, value=people, accepted=people), f"set of {len(people)}")
        family = name.split()[-1]
        also = [family] if _WHO.search(question) and len(family) > 3 and family != name else []
        return Derived(truth(AnswerType.NAME, value=name, accepted=[name, *also]), f"name {name}")
    said = rest if said_words(rest) else gold
    return Derived(truth(AnswerType.TEXT, value=said, accepted=[said]), "words of the gold", by_words=True)


def _asks(pattern: re.Pattern[str], question: str, before: re.Pattern[str]) -> bool:
    """Whether the question asks this before it asks the other: "how old was he when …" asks no date."""
    this, other = pattern.search(question), before.search(question)
    return this is not None and (other is None or this.start() < other.start())


def _chosen(subject: str, gold: str, question: str) -> str | None:
    """Which of the things that the question offers the gold takes: its subject, or the first named."""
    if " or " not in question.lower() or _HOW_MUCH.search(question):
        return None
    asked = canonical(question)
    named = [run.text for run in runs(gold)]
    offered = [name for name in named if canonical(name) in asked]
    if offered:
        return named[0] if _HERE.search(question) and named[0] in subject else offered[0]
    plain = _ARTICLE.sub("", subject)
    return plain if len(plain) > 4 and canonical(plain) in asked else None


def _date(gold: str, question: str) -> str | None:
    asked = {(date.year, date.month, date.day) for date in dates(question)}
    found = [date for date in dates(gold) if (date.year, date.month, date.day) not in asked]
    if not found:
        return None
    fullest = max(found, key=lambda date: sum(part is not None for part in (date.year, date.month, date.day)))
    return canonical(gold)[fullest.start : fullest.end]


def _quantity(gold: str, rest: str, question: str) -> Quantity | None:
    """What is asked for by its noun or unit, else the first measure; unasked, only what says all there is.

    Measures of several sides are no one number, nor are scores and ranges; what stands in brackets only
    repeats it.
    """
    rest = _ASIDE.sub(" ", rest)
    if _SIDES.search(rest):
        return None
    given = [(each.readings, each.unit) for each in quantities(question)]
    found = [
        each
        for each in quantities(gold)
        if (each.readings, each.unit) not in given and each.noun not in _HALVES_OF_DAYS
    ]
    if not _HOW_MUCH.search(question):
        alone = [each for each in quantities(rest) if each.unit is not None] or quantities(rest)
        if len(alone) != 1 or any(run.sure for run in runs(rest)) or not _nothing_else(rest, alone[0]):
            return None
        return next((each for each in found if each.readings == alone[0].readings), None)
    words = re.findall(r"[^\W\d_]+", question)
    nouns, units = {singular(word) for word in words}, {unit_named(word) for word in words} - {None}
    asked = [each for each in found if (each.noun and each.noun in nouns) or each.unit in units]
    if counted := _COUNTED.search(question):
        noun, unit = singular(counted[1]), unit_named(counted[1])
        asked.sort(key=lambda each: not (each.noun == noun or (unit is not None and each.unit == unit)))
    measures = [each for each in found if each.unit is not None]
    return next(iter((*asked, *measures, *found)), None)


def _nothing_else(rest: str, quantity: Quantity) -> bool:
    """Whether hardly a word beside the quantity says anything."""
    plain = plain_numbers(rest)
    return len(said_words(plain[: quantity.start] + " " + plain[quantity.end :])) <= (
        quantity.unit is not None
    )


def _unit_name(quantity: Quantity, gold: str) -> str:
    if quantity.unit is None:
        return quantity.noun
    written = _SCALE.sub(" ", plain_numbers(gold)[quantity.start : quantity.end])
    rest = re.sub(r"(?<![A-Za-z])[\d.,/]+|-", " ", written).split()
    candidates = (" ".join(rest), *rest[::-1])
    return next((name for name in candidates if name and unit_named(name) == quantity.unit), "")


def _members(gold: str, question: str) -> list[str]:
    """Three or more things said one after the other; text around the first and last is left off."""
    match = _LIST.search(gold)
    if match is None or len(dates(match.group())) > 0:
        return []
    first, *middle = [part.strip() for part in match[1].split(",")]
    longest = max(len(part.split()) for part in middle)
    head = " ".join(_without_lead(first.split()[-longest:]))
    tail = " ".join(match[2].split()[:longest])
    asked = set(said_words(question))
    members = [head, *middle, tail]
    return [] if all(set(said_words(member)) <= asked for member in members) else members


def _people(name: str, question: str) -> list[str]:
    """Two people of whom each has a whole name; "Marks and Spencer" is one."""
    people = name.split(" and ") if _WHO.search(question) else []
    return people if len(people) > 1 and all(" " in each for each in people) else []


def _without_lead(words: list[str]) -> list[str]:
    while len(words) > 1 and words[0].lower() in _LEADS:
        words = words[1:]
    return words


def _name(gold: str, rest: str, question: str) -> str | None:
    """The first proper name in what is said, else in the whole gold where it is asked who or what it is."""
    asked, words = canonical(question), set(said_words(question))
    said = [
        run.text
        for run in runs(rest)
        if run.sure
        and canonical(run.text) not in asked
        and not set(said_words(run.text)) <= words
        and not dates(run.text)
    ]
    if said:
        return said[0]
    new = set(said_words(rest)) - words
    if rest != gold and (new or not (_IDENTIFY.search(question) or _WHO.search(question))):
        return None
    return next((run.text for run in runs(gold) if run.sure and canonical(run.text) not in asked), None)
