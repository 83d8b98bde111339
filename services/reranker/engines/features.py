"""How a passage meets a question, as a short vector of numbers in 0..1."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import pairwise
from operator import attrgetter

from language.dates import dates
from language.names import MOST_WORDS, alike, name_words
from language.paraphrase import expansions
from language.quantities import quantities
from language.questions import AnswerType, read_question
from language.reference import pointer
from language.sentences import sentences
from language.words import stem, words

_NAMED = frozenset({AnswerType.PERSON, AnswerType.PLACE, AnswerType.NAME})
_CAPITALISED = _NAMED | {AnswerType.DATE}
_FLATNESS = 0.75
"""How far a passage's length discounts its words: BM25's usual b."""
_TYPICAL = 120
"""Words of a passage that is neither long nor short; that of SQuAD's paragraphs."""
_NEAR = 2
"""Places within which a text has two words together that stand side by side in the question."""
_PREFIX = 2
"""First letters that a word has in common with its stem: what has others need not be stemmed."""
_NOTHING = "", frozenset[str]()
_MOST_BEST = 2
"""Sentences, of those that say most of the question, in which the answer is looked for."""
_CAPITAL = re.compile(r"(?<=[^\W_][ ,;:])[ ]?[A-Z][^\W_]+|(?<=[^\W_] [(\"“‘])[A-Z][^\W_]+")
"""A capitalised word that does not open its sentence."""
_UNKNOWN = 0.5
"""What a feature says that does not apply to a question: neither for nor against."""


@dataclass(frozen=True, slots=True)
class Features:
    """Every field grows with relevance.

    `matched`: how often the passage has the question's content words, as BM25 counts; `paraphrased`: share of
    them that it says in other words only; `sentence`: share in the best sentence, with half of what the title
    adds; `beyond`: share that the title has not. `near`: how close words stand that are side by side in the
    question. `answer_type`: a best sentence holds a phrase of the wanted kind. `mentioned`: the passage has
    the thing's name, not only within that of another thing ("Leica M6" for "Leica M"); `about`: its title or
    a best sentence has it.
    """

    matched: float
    paraphrased: float
    sentence: float
    near: float
    beyond: float
    answer_type: float
    mentioned: float
    about: float

    def vector(self) -> tuple[float, ...]:
        """The fields in declaration order."""
        return _VALUES(self)


_VALUES: Callable[[Features], tuple[float, ...]] = attrgetter(*(each.name for each in fields(Features)))


@dataclass(frozen=True, slots=True)
class Thing:
    """A name: its folded words, and a pattern that finds it with the word after it if that is of a name."""

    words: tuple[str, ...]
    pattern: re.Pattern[str]

    @classmethod
    def named(cls, name: str) -> "Thing":
        """The thing of a name."""
        parts = r"\W{1,3}".join(map(re.escape, re.findall(r"\w+", name)[:MOST_WORDS]))
        return cls(name_words(name), re.compile(rf"\b{parts}\b([ -](?:[A-Z]\w*|\d{{1,3}}\b))?"))

    def only_in_longer(self, text: str) -> bool:
        """Whether the text has the name only within longer ones."""
        every = self.pattern.findall(text)
        return bool(every) and all(every)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, read once for all passages.

    `weights`: its content stems with their share of the whole, by length, since long words are rarer, and
    twice for names and numbers; `restating`: stems that say some of them otherwise; `things`: the entity's
    name, and with it those in the question, which it may be compared with. `met` remembers what folded words
    of the passages mean to the question; `prefixes`: first letters of those that can mean something.
    """

    text: str
    weights: Mapping[str, float]
    restating: Mapping[str, frozenset[str]]
    wanted: AnswerType
    things: tuple[Thing, ...]
    prefixes: frozenset[str]
    met: dict[str, tuple[str, frozenset[str]]] = field(default_factory=dict)

    def met_by(self, word: str) -> tuple[str, frozenset[str]]:
        """The question's stem that a folded word has, or "", and those that it says in other words."""
        found = self.met.get(word)
        if found is None:
            found = self.met[word] = self._meaning(word) if word[:_PREFIX] in self.prefixes else _NOTHING
        return found

    def _meaning(self, word: str) -> tuple[str, frozenset[str]]:
        stemmed = stem(word)
        if stemmed in self.weights:
            return stemmed, frozenset()
        return "", self.restating.get(stemmed, frozenset())

    def share(self, found: Iterable[str]) -> float:
        """The weight of some of the question's stems."""
        return sum(self.weights[each] for each in found) if self.weights else _UNKNOWN


def ask(question: str, entity: str | None) -> Asked:
    """Read a question about `entity`, as far as that is known."""
    read = read_question(question)
    shown = pointer(question) if entity else None  # "this bridge" is the entity
    stems: dict[str, int] = {}
    for word in read.terms:
        pointing = shown is not None and shown.start <= word.start < shown.end
        if (pointing and read.wanted is not AnswerType.YES_NO) or not word.stem:
            continue  # some marks fold to nothing
        telling = word.text[0].isupper() or word.text[0].isdigit()
        stems[word.stem] = len(word.stem) * (2 if telling else 1)
    total = sum(stems.values())
    restating: dict[str, frozenset[str]] = {}
    for each in stems:
        for other in expansions(each) - stems.keys():
            restating[other] = restating.get(other, frozenset()) | {each}
    things = [entity, *(name.text for name in read.names)] if entity else []
    return Asked(
        text=f"{question} {entity or ''}",
        weights={each: weight / total for each, weight in stems.items()},
        restating=restating,
        wanted=read.wanted,
        things=tuple(Thing.named(thing) for thing in things if name_words(thing)),
        prefixes=frozenset(each[:_PREFIX] for each in (*stems, *restating)),
    )


def measure(asked: Asked, passage: str) -> Features:
    """Compare one passage, whose first line may be its page's title, with the question."""
    lines = [line.text for line in sentences(passage)]
    if not lines:
        return Features(*([0.0] * len(Features.__dataclass_fields__)))
    places: dict[str, list[int]] = {}
    stated: list[frozenset[str]] = []
    restated: list[frozenset[str]] = []
    length = 0
    every = [words(line) for line in lines]
    for line in every:
        here: set[str] = set()
        said: set[str] = set()
        for word in line:
            same, others = asked.met_by(word)
            if same:
                here.add(same)
                places.setdefault(same, []).append(length)
            said |= others
            length += 1
        stated.append(frozenset(here))
        restated.append(frozenset(here | said))
    title = stated[0] if "\n" in passage.strip() else frozenset[str]()
    shares = [_in_context(asked, found, title) for found in stated]
    merits = [asked.share(found) for found in restated]
    most = max(merits)
    best = [place for place, merit in enumerate(merits) if merit == most][:_MOST_BEST]
    mentioned, about = _thing(asked, passage, lines, every, best[0])
    return Features(
        matched=_matched(asked, places, length),
        paraphrased=asked.share(frozenset[str]().union(*restated) - places.keys()) if asked.weights else 0.0,
        sentence=max(shares),
        near=_near(asked, places),
        beyond=asked.share(places.keys() - title),
        answer_type=max(_offered(asked, lines[place]) for place in best),
        mentioned=mentioned,
        about=about,
    )


def _in_context(asked: Asked, found: frozenset[str], title: frozenset[str]) -> float:
    """What the title says counts half: a sentence is about it, but need not say it."""
    return (asked.share(found) + asked.share(found | title)) / 2


def _matched(asked: Asked, places: Mapping[str, Sequence[int]], length: int) -> float:
    """The sum of BM25 with the words' length for their rarity, and k1 = 1; 1 is never quite reached."""
    damping = 1 - _FLATNESS + _FLATNESS * length / _TYPICAL
    counts = {each: len(found) for each, found in places.items()}
    return sum(asked.weights[each] * count / (count + damping) for each, count in counts.items())


def _near(asked: Asked, places: Mapping[str, Sequence[int]]) -> float:
    """The mean over words that are side by side in the question: 1 if the passage has them together."""
    pairs = list(pairwise(asked.weights))
    if not pairs:
        return _UNKNOWN
    gaps = [_gap(places[one], places[other]) for one, other in pairs if one in places and other in places]
    return sum(1 / (1 + max(0, gap - _NEAR)) for gap in gaps) / len(pairs)


def _gap(ones: Sequence[int], others: Sequence[int]) -> int:
    """The least distance between two sorted lists of places (a merge)."""
    first = second = 0
    least = abs(ones[0] - others[0])
    while first < len(ones) and second < len(others):
        least = min(least, abs(ones[first] - others[second]))
        if ones[first] < others[second]:
            first += 1
        else:
            second += 1
    return least


def _offered(asked: Asked, text: str) -> float:
    """Whether the text has a phrase of the wanted kind; half where a question wants none in particular."""
    if asked.wanted in _CAPITALISED and text == text.lower():
        return _UNKNOWN
    if asked.wanted is AnswerType.DATE:
        return float(any(map(str.isdigit, text)) and bool(dates(text)))
    if asked.wanted is AnswerType.MONEY:
        return float(any(quantity.dimension.startswith("money") for quantity in quantities(text)))
    if asked.wanted in (AnswerType.NUMBER, AnswerType.QUANTITY):
        return float(bool(quantities(text)))
    if asked.wanted in _NAMED:
        return float(any(found.strip() not in asked.text for found in _CAPITAL.findall(text)))
    return _UNKNOWN


def _thing(
    asked: Asked, passage: str, lines: Sequence[str], every: Sequence[Sequence[str]], best: int
) -> tuple[float, float]:
    """`mentioned` and `about` of the best met thing; without one nothing is known."""
    present: dict[str, list[str]] = {}
    for word in {word for line in every for word in line} if asked.things else ():
        present.setdefault(word[:1], []).append(word)
    found = [] if asked.things else [(_UNKNOWN, _UNKNOWN)]
    for thing in asked.things:
        forms = [[other for other in present.get(word[:1], ()) if alike(word, other)] for word in thing.words]
        having = [all(any(form in line for form in same) for same in forms) for line in every]
        mentioned = any(having) and not thing.only_in_longer(passage)
        about = (having[0] or having[best]) and not thing.only_in_longer(f"{lines[0]}\n{lines[best]}")
        found.append((float(mentioned), float(mentioned and about)))
    return max(found)
