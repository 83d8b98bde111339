"""Which kind of phrase a question wants, and which kinds a passage offers."""

import re

from services.reranker.engines.text import Text, word_set
from services.reranker.lexicon import AnswerType

_MONTHS = word_set("january february march april may june july august september october november december")
_NUMBER_WORDS = word_set(
    """zero two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
    seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand
    million billion dozen half"""
)
_CURRENCY = word_set("€ $ £ ¥ eur euro euros usd dollar dollars gbp pound pounds yen cents pence francs")
_UNITS = word_set(
    """mm cm m km metre metres meter meters kilometre kilometres kilometer kilometers inch inches in
    ft foot feet mile miles g kg mg gram grams kilogram kilograms kilo kilos lb lbs oz ounce ounces
    tonne tonnes ton tons l ml cl litre litres liter liters millilitres kcal kj cal calories
    kilocalories kilojoules calorie second seconds minute minutes hour hours day days week weeks
    month months year years w kw watt watts v volt volts hp mah gb tb mb ghz mhz hz mph kmh %
    percent degrees celsius fahrenheit c f hectares acres db megapixels megapixel mp"""
)
_PREPOSITIONS = word_set("in at near from to of on outside around")
_CLOCK = re.compile(r"\d{1,2}[:.]\d{2}(?:am|pm)?|\d{1,2}(?:am|pm)", re.IGNORECASE)
_YEAR = re.compile(r"1[0-9]{3}|20[0-9]{2}")
_DAYS = word_set(
    "monday tuesday wednesday thursday friday saturday sunday weekdays weekends daily noon midnight"
)
_WITH_UNIT = re.compile(r"\d+(?:[.,]\d+)*([^\W\d_]+)")

_NOTHING: frozenset[AnswerType] = frozenset()
_PLACE = frozenset({AnswerType.PLACE})
_BY_WORD: dict[str, frozenset[AnswerType]] = (
    dict.fromkeys(_NUMBER_WORDS, frozenset({AnswerType.NUMBER, AnswerType.MEASURE}))
    | dict.fromkeys(_MONTHS, frozenset({AnswerType.DATE}))
    | dict.fromkeys(_DAYS, frozenset({AnswerType.TIME, AnswerType.DATE}))
    | dict.fromkeys(_CURRENCY, frozenset({AnswerType.MONEY}))
)
_AFTER: dict[str, frozenset[AnswerType]] = dict.fromkeys(_PREPOSITIONS, _PLACE) | dict.fromkeys(
    ("by", "is", "was"), frozenset({AnswerType.PERSON, AnswerType.PLACE})
)

_OPENINGS: tuple[tuple[str, AnswerType], ...] = (
    ("what time", AnswerType.TIME),
    ("how much money", AnswerType.MONEY),
    ("how much does", AnswerType.MONEY),
    ("how many", AnswerType.NUMBER),
    ("how often", AnswerType.NUMBER),
    ("how old", AnswerType.NUMBER),
    ("how long", AnswerType.MEASURE),
    ("how tall", AnswerType.MEASURE),
    ("how heavy", AnswerType.MEASURE),
    ("how big", AnswerType.MEASURE),
    ("how far", AnswerType.MEASURE),
    ("how fast", AnswerType.MEASURE),
    ("what year", AnswerType.DATE),
    ("which year", AnswerType.DATE),
    ("what date", AnswerType.DATE),
    ("when", AnswerType.DATE),
    ("where", AnswerType.PLACE),
    ("whose", AnswerType.PERSON),
    ("who", AnswerType.PERSON),
)


def wanted_type(question: str) -> AnswerType:
    """The type that the question's own words ask for; TEXT when they do not say."""
    padded = f" {' '.join(question.casefold().split())} "
    for opening, answer in _OPENINGS:
        if f" {opening} " in padded:
            return answer
    return AnswerType.TEXT


def offered_types(text: Text, start: int, end: int, excluded: frozenset[str]) -> set[AnswerType]:
    """Types of phrases between two tokens; a name made of `excluded` stems (the entity's) is no answer."""
    found: set[AnswerType] = {AnswerType.TEXT}
    capitals = 0
    for position in range(start, end):
        word = text.words[position]
        if text.stems[position] in excluded:
            capitals = 0
            continue
        if word[0].isdigit():
            found |= _numeric(text, position, end)
        else:
            found |= _BY_WORD.get(word.casefold(), _NOTHING)
        if not word[0].isupper():
            capitals = 0
            continue
        capitals += 1
        if capitals >= 2:
            found.add(AnswerType.PERSON)
        if position > start:
            found |= _AFTER.get(text.words[position - 1].casefold(), _NOTHING)
    return found


def _numeric(text: Text, position: int, end: int) -> set[AnswerType]:
    word = text.words[position]
    kinds = {AnswerType.NUMBER}
    if _CLOCK.fullmatch(word):
        kinds.add(AnswerType.TIME)
    if _YEAR.fullmatch(word):
        kinds.add(AnswerType.DATE)
    following = text.words[position + 1].casefold() if position + 1 < end else ""
    glued = _WITH_UNIT.fullmatch(word)
    if following in _UNITS or (glued and glued.group(1).casefold() in _UNITS):
        kinds.add(AnswerType.MEASURE)
    if following in {"am", "pm", "o"}:
        kinds.add(AnswerType.TIME)
    return kinds
