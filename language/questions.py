"""What a question asks for: the type of its answer, its focus noun, its terms, and what it points at."""

import re
from dataclasses import dataclass
from enum import StrEnum

from language.names import Name, names
from language.quantities import Quantity, quantities
from language.words import AUXILIARIES, COPULAS, STOP_WORDS, Word, content_stems, remembered, tokens, word_set


class AnswerType(StrEnum):
    """What kind of words answer a question (Li and Roth 2002's coarse classes, cut to what can be seen)."""

    PERSON = "person"
    PLACE = "place"
    DATE = "date"
    NUMBER = "number"
    QUANTITY = "quantity"
    MONEY = "money"
    NAME = "name"
    YES_NO = "yes_no"
    REASON = "reason"
    DESCRIPTION = "description"


@dataclass(frozen=True, slots=True)
class Question:
    """`wanted`: the type of the answer. `focus`: stems of the noun after "which", "what" or "how many".

    `terms`: the content words that an answering sentence should share, the focus among them. `dimensions`:
    what a quantity is asked for, as `language.quantities` names it ("how tall": length). `unit`: the size,
    in base units, of a unit that is asked for ("how many litres"), or 0. `names`: capitalised runs.
    `points`: the question says "this", "it", "here" or the like, so part of it lies outside its words.
    `wh`: the place of the question word among `words`; None where there is none. `begin`: the place where
    the question itself begins; what stands before only leads up to it ("one more thing: …").
    """

    text: str
    wanted: AnswerType
    focus: tuple[str, ...]
    terms: tuple[Word, ...]
    names: tuple[Name, ...]
    points: bool
    wh: int | None
    words: tuple[Word, ...]
    begin: int = 0
    dimensions: frozenset[str] = frozenset()
    unit: float = 0.0

    @property
    def itself(self) -> str:
        """The text from where the question itself begins."""
        return self.text[self.words[self.begin].start :] if self.begin else self.text

    @property
    def making(self) -> frozenset[str]:
        """Stems of its verbs that bring a thing into being, if it asks when: a bare year tells that."""
        asks_when = self.wanted is AnswerType.DATE
        return frozenset(term.stem for term in self.terms if asks_when and term.stem in _MAKING)

    @property
    def numeric(self) -> bool:
        """Whether the answer holds a number."""
        return self.wanted in _NUMERIC


_NUMERIC = frozenset({AnswerType.DATE, AnswerType.NUMBER, AnswerType.QUANTITY, AnswerType.MONEY})
_QUESTION_WORDS = frozenset({"who", "whom", "whose", "what", "which", "when", "where", "why", "how"})
_POINTING = word_set("""
    this that these those it its here there he him his she her they them their i'm i am me my
""")
_BY_NOUN = {
    AnswerType.DATE: (
        "year years date dates day days month months century centuries decade decades season era"
    ),
    AnswerType.PLACE: (
        "country city town village place state province county continent region district island street"
        " address location capital area territory neighbourhood neighborhood"
    ),
    AnswerType.PERSON: "person people man woman",
    AnswerType.NUMBER: "number percentage percent amount fraction proportion share total count ratio rate",
    AnswerType.QUANTITY: (
        "height width length depth weight size distance speed temperature volume capacity duration age power"
        " thickness diameter"
    ),
    AnswerType.MONEY: "price cost fee salary income revenue",
    AnswerType.NAME: "name title",
    AnswerType.REASON: "reason purpose cause",
}
TYPE_OF = {noun: wanted for wanted, nouns in _BY_NOUN.items() for noun in nouns.split()}
"""Nouns that say of what type a value is: "year", "height"."""
_MEASURES = {
    "length": (
        "tall high long deep wide far big large thick height width length depth distance diameter size"
        " thickness"
    ),
    "mass": "heavy weight weigh big",
    "time": "long old late early often duration age",
    "temperature": "hot cold temperature",
    "length/time": "fast speed",
    "area": "big large size",
    "volume": "big large capacity volume",
    "power": "strong power",
}
_DIMENSIONS = {
    word: frozenset(name for name, words in _MEASURES.items() if word in words.split())
    for words in _MEASURES.values()
    for word in words.split()
}
BARE_DATE = frozenset({"year", "date"})
"""A thing's attribute that is called no more than this is the date of its making."""
_MAKING = content_stems("""
    make made build built construct erect paint draw drawn write written wrote compose publish release issue
    found create invent produce launch introduce
""")
"""Verbs of creation (Levin 1993, class 26)."""
_DEGREES = frozenset(_DIMENSIONS) | {"hard", "small"}
_MONEY_VERBS = word_set("cost costs pay paid price sell sold spend spent worth earn earned charge")
_DO = word_set("do does did")
_BY_VERB = dict.fromkeys(_MONEY_VERBS, AnswerType.MONEY) | {
    "weigh": AnswerType.QUANTITY,
    "measure": AnswerType.QUANTITY,
}
_JOINS = word_set("""
    about above after against among around as at before behind below beneath beside besides between despite
    during for from in into near of on over since through throughout till to toward towards under unlike until
    upon via with within without because if once though although unless whether while
""")
"""What follows one of these belongs to the question: "after the war, who …"; not so "by the way"."""
_PAUSE = re.compile(r"[,:;.!?](?=\s)|\s[-–—]\s|—")
_OWNS = re.compile(r"['’]s?\b")
_CONTAINS = frozenset({"in", "inside"})
_CONTENT = frozenset({"mass", "volume", "share"})
_LONGEST_HEAD = 4
"""Words of a noun phrase."""
_SORTS = word_set("kind type sort form variety category class")


@remembered(256)
def read_question(text: str) -> Question:
    """The question's parts. Blocking, well under a millisecond."""
    words = tokens(text)
    wh = next((place for place, word in enumerate(words) if word.folded in _QUESTION_WORDS), None)
    begin = _begin(text, words, wh)
    wanted, focus = _wanted(text, words[begin:], None if wh is None else wh - begin)
    counted = _counted(focus)
    measured = words[wh + 1 :] if wh is not None and wanted is AnswerType.QUANTITY else ()
    return Question(
        text=text,
        wanted=wanted,
        focus=(focus.stem,) if focus else (),
        terms=tuple(word for word in words[begin:] if word.folded not in STOP_WORDS or _is_acronym(word)),
        names=tuple(name for name in names(text) if name.text.casefold() not in _QUESTION_WORDS),
        points=any(word.folded in _POINTING for word in words),
        wh=wh,
        words=words,
        begin=begin,
        dimensions=frozenset(each.dimension.partition(":")[0] for each in counted) or _measured(measured),
        unit=counted[0].base if counted else 0.0,
    )


def _measured(words: tuple[Word, ...]) -> frozenset[str]:
    """What is measured: "how tall", "what weight or volume", "how much is in it"."""
    place = next((place for place, word in enumerate(words) if word.folded in _DIMENSIONS), None)
    if place is None:
        amount = bool(words) and words[0].folded == "much"
        return _CONTENT if amount and any(word.folded in _CONTAINS for word in words) else frozenset()
    found = _DIMENSIONS[words[place].folded]
    joined = words[place + 1].folded == "or" if place + 2 < len(words) else False
    return found | _DIMENSIONS.get(words[place + 2].folded, frozenset()) if joined else found


def _begin(text: str, words: tuple[Word, ...], wh: int | None) -> int:
    """The place of the first word after the last pause, where what stands before says nothing."""
    paused = [
        place
        for place in range(1, len(words))
        if _PAUSE.search(text, words[place - 1].end, words[place].start + 1)
    ]
    if wh is None:
        paused = [place for place in paused if words[place].folded in AUXILIARIES]
    begin = max((place for place in paused if wh is None or place <= wh), default=0)
    told = any(
        word.folded in _JOINS | _POINTING or not word.text.isalpha() or (place and word.text[0].isupper())
        for place, word in enumerate(words[:begin])
    )
    return 0 if told else begin


def _counted(focus: Word | None) -> tuple[Quantity, ...]:
    """One of the unit that is asked for: "how many calories", "how many litres"."""
    return tuple(each for each in quantities(f"1 {focus.text}") if each.dimension) if focus else ()


def _is_acronym(word: Word) -> bool:
    """ "US" and "IT" are no pronouns."""
    return word.text.isupper() and len(word.text) > 1


def _wanted(text: str, words: tuple[Word, ...], wh: int | None) -> tuple[AnswerType, Word | None]:
    """The answer's type and the noun that says so, if one does."""
    if wh is None:
        opens = words[0].folded if words else ""
        return (AnswerType.YES_NO if opens in AUXILIARIES else AnswerType.DESCRIPTION), None
    asks, rest = words[wh].folded, words[wh + 1 :]
    simple = {
        "who": AnswerType.PERSON,
        "whom": AnswerType.PERSON,
        "whose": AnswerType.PERSON,
        "when": AnswerType.DATE,
        "where": AnswerType.PLACE,
        "why": AnswerType.REASON,
    }
    if asks in simple:
        return simple[asks], None
    if asks == "how":
        return _how(words, rest)
    cut = text[words[wh].end :].startswith(("'", "’"))  # "what's": the auxiliary is cut off its question word
    return _what(text, rest, cut)


def _how(words: tuple[Word, ...], rest: tuple[Word, ...]) -> tuple[AnswerType, Word | None]:
    degree = rest[0].folded if rest else ""
    if degree == "much":
        return _how_much(words, rest)
    if degree == "many":
        return AnswerType.NUMBER, _counted_noun(rest)
    return (AnswerType.QUANTITY if degree in _DEGREES else AnswerType.DESCRIPTION), None


def _how_much(words: tuple[Word, ...], rest: tuple[Word, ...]) -> tuple[AnswerType, Word | None]:
    """A price ("how much is it"), a weight, what is contained ("how much is in it"), or else a number."""
    after_copula = rest[2].folded if len(rest) > 2 and rest[1].folded in COPULAS else ""
    priced = after_copula and after_copula not in _CONTAINS | {"there", "left", "on"}
    if priced or any(word.folded in _MONEY_VERBS for word in words):
        return AnswerType.MONEY, None
    if after_copula in _CONTAINS or any(word.folded == "weigh" for word in rest):
        return AnswerType.QUANTITY, None
    contained = any(word.folded in _CONTAINS for word in rest)
    return AnswerType.QUANTITY if contained else AnswerType.NUMBER, _counted_noun(rest)


def _counted_noun(rest: tuple[Word, ...]) -> Word | None:
    return next((word for word in rest[1:3] if word.folded not in STOP_WORDS), None)


def _what(text: str, rest: tuple[Word, ...], copula: bool) -> tuple[AnswerType, Word | None]:
    """The type that the noun phrase after "what" or "which" names: "what treaty", "what is the price of".

    `copula`: "is" was cut off the question word.
    """
    first = rest[0].folded if rest else ""
    if first in _DO:
        verbs = {word.folded for word in rest}
        return (
            _BY_VERB[found] if (found := min(verbs & _BY_VERB.keys(), default="")) else AnswerType.DESCRIPTION
        ), None
    if copula or first in AUXILIARIES:
        head = _head(text, rest[0 if copula else 1 :])
        return TYPE_OF.get(head, AnswerType.DESCRIPTION), None
    noun_phrase: list[Word] = []
    for word in rest[:4]:
        if word.folded in STOP_WORDS and not (noun_phrase and word.folded == "of" and _is_sort(noun_phrase)):
            break
        noun_phrase.append(word)
    named = next((word for word in noun_phrase if word.folded in TYPE_OF), None)
    if named is not None:
        return TYPE_OF[named.folded], named
    if not noun_phrase:
        return AnswerType.DESCRIPTION, None
    last = noun_phrase[-1] if _is_sort(noun_phrase[:1]) else noun_phrase[0]
    return AnswerType.NAME, last


def _head(text: str, rest: tuple[Word, ...]) -> str:
    """The noun of the phrase that is asked for, if it tells a type: "price" of "this lamp's launch price"."""
    owned = [place for place, word in enumerate(rest) if _OWNS.match(text, word.end)]
    phrase = rest[owned[-1] + 1 :] if owned else rest
    nouns: list[Word] = []
    for word in phrase[:_LONGEST_HEAD]:
        if word.folded in STOP_WORDS and nouns:
            break
        if word.folded not in STOP_WORDS:
            nouns.append(word)
    return next((word.folded for word in reversed(nouns) if word.folded in TYPE_OF), "")


def _is_sort(phrase: list[Word]) -> bool:
    return bool(phrase) and phrase[0].folded.removesuffix("s") in _SORTS
