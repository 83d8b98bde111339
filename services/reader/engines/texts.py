"""Sentences prepared for reading: tokens, clauses, and the spans that may be an answer."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from chassis.models.wanted import while_wanted
from language.dates import dates
from language.names import names
from language.quantities import quantities
from language.sentences import sentences
from language.words import STOP_WORDS, Word, tokens, word_set
from services.reader.engine import Passage, PassageKind

MOST_SENTENCE_CHARS = 2_000
"""What is longer is no sentence but a table or an attack: its beginning is read."""
MOST_SENTENCES = 600
"""Of one request, in the passages' order."""
_CHUNK_WORDS = 8
_TIME = re.compile(
    r"\b\d{1,2}[:.]\d\d(?:\s?[ap]\.?m\b)?|\b\d{1,2}\s?(?:[ap]\.?m\b|o'clock)"
    r"|\b(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:days?)?\b",
    re.IGNORECASE,
)
"""Times of the day and days of the week."""
_CLAUSE_END = re.compile(r"[,;:()\[\]–—\"“”]|\.\s")
_RANGE = re.compile(r"\s?[-–—]\s?|\sto\s")
"""Between the two ends of a range: "17 to 20 cm", "11–14 September"."""
_SIGN_BEHIND = re.compile(r"\s?[%°€£$]\w?")
_CAUSE = re.compile(r"\b(?:because|since|(?:due|owing|thanks) to|so that|in order to)\s", re.IGNORECASE)
_CLAUSE_WORDS = word_set("""
    which who that because but and while where when although though since if so or whose whom
""")


@dataclass(frozen=True, slots=True)
class Candidate:
    """Words `first` to `last` (exclusive) of a sentence. `types`: name, date, time, number, mass, chunk …"""

    first: int
    last: int
    types: frozenset[str]


class Sentence:
    """A sentence of a passage; `before`: stems of the one before it; `title`: those of its page's title."""

    def __init__(self, place: int, passage: Passage, text: str, start: int) -> None:
        self.passage = place
        self.kind = passage.kind
        self.about = passage.title
        self.text = text
        self.start = start
        self.title = frozenset(word.stem for word in tokens(passage.title))
        self.words: tuple[Word, ...] = tokens(text)
        self.stems = [word.stem for word in self.words]
        self.present = frozenset(self.stems)
        self.before: frozenset[str] = frozenset()

    @cached_property
    def breaks(self) -> tuple[int, ...]:
        """Places of the words that begin a clause, 0 and the number of words among them."""
        inner = (
            place
            for place in range(1, len(self.words))
            if self.is_cut(place) or (self.words[place].folded in _CLAUSE_WORDS and not self._joins(place))
        )
        return (0, *inner, len(self.words))

    @cached_property
    def clauses(self) -> tuple[int, ...]:
        """For each word the number of its clause."""
        numbers, clause = [], -1
        begins = set(self.breaks)
        for place in range(len(self.words)):
            clause += place in begins
            numbers.append(clause)
        return tuple(numbers)

    def _joins(self, place: int) -> bool:
        """Whether the word begins no clause: "and" between two names or numbers, "that" after "was"."""
        word, around = self.words[place].folded, self.words[place - 1 : place + 2 : 2]
        if word == "that":
            return around[0].folded in ("is", "are", "was", "were")
        return word in ("and", "or") and all(not each.text[0].islower() for each in around)

    def bounds(self, first: int, last: int) -> tuple[int, int]:
        """Where the words `first` to `last` stand in the text, with a sign beside them ("€4", "5 %")."""
        start, end = self.words[first].start, self.words[last - 1].end
        before, after = self.text[max(0, start - 1) : start], _SIGN_BEHIND.match(self.text, end)
        return start - (unicodedata.category(before or " ") == "Sc"), after.end() if after else end

    def between(self, first: int, last: int) -> str:
        """The text of the words `first` to `last`, with its punctuation."""
        start, end = self.bounds(first, last)
        return self.text[start:end]

    def is_cut(self, place: int) -> bool:
        """Whether punctuation stands before the word at `place`; a range's dash ("19–27 kg") is none."""
        before, after = self.words[place - 1], self.words[place]
        gap = self.text[before.end : after.start]
        joins = gap == "–" and before.text[-1].isdigit() and after.text[0].isdigit()
        return not joins and _CLAUSE_END.search(gap) is not None

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """Dates, numbers with what they count, names, and runs of content words; each place once."""
        found: dict[tuple[int, int], set[str]] = {}
        for first, last, type_ in (*self._typed(), *self._chunks()):
            found.setdefault((first, last), set()).add(type_)
        return tuple(Candidate(first, last, frozenset(types)) for (first, last), types in found.items())

    def _typed(self) -> Iterator[tuple[int, int, str]]:
        measured = quantities(self.text)
        dated = [(date.start, date.end, "date") for date in dates(self.text)]
        counted = [(quantity.start, quantity.end, "number") for quantity in measured]
        spans = [
            *dated,
            *counted,
            *((match.start(), match.end(), "time") for match in _TIME.finditer(self.text)),
            *(
                (each.start, each.end, each.dimension.partition(":")[0])
                for each in measured
                if each.dimension
            ),
            *((name.start, name.end, "name") for name in names(self.text)),
        ]
        for (start, end, _), (after, last, _) in pairwise(sorted([*dated, *counted])):
            if _RANGE.fullmatch(self.text[end:after]):
                spans += [(start, last, type_) for first, _, type_ in spans if first == after]
        for match in _CAUSE.finditer(self.text):
            cut = _CLAUSE_END.search(self.text, match.end())
            spans.append((match.start(), cut.start() if cut else len(self.text), "cause"))
        for start, end, type_ in spans:
            inside = [place for place, word in enumerate(self.words) if word.end > start and word.start < end]
            if inside:
                yield inside[0], inside[-1] + 1, type_

    def _chunks(self) -> Iterator[tuple[int, int, str]]:
        place, count = 0, len(self.words)
        while place < count:
            if self._is_stop(place):
                place += 1
                continue
            last = place
            while last + 1 < count and last - place < _CHUNK_WORDS and self._goes_on(last + 1):
                last += 1
            while self._is_stop(last):
                last -= 1
            yield place, last + 1, "chunk"
            place = last + 1

    def _goes_on(self, place: int) -> bool:
        if self.is_cut(place):
            return False
        return not self._is_stop(place) or self.words[place].folded == "of"

    def _is_stop(self, place: int) -> bool:
        word = self.words[place]
        return word.folded in STOP_WORDS and not (word.text.isupper() and len(word.text) > 1)


@dataclass(frozen=True, slots=True)
class Prepared:
    """All sentences of a request, each text once; the stems of each passage as a whole, and of its title."""

    sentences: tuple[Sentence, ...]
    wholes: tuple[frozenset[str], ...]
    titles: tuple[frozenset[str], ...]


def prepare(passages: Sequence[Passage]) -> Prepared:
    """Split and tokenise. The attributes of one thing, by title, count as one whole."""
    found: list[Sentence] = []
    seen: set[tuple[str, str]] = set()
    wholes: list[frozenset[str]] = []
    titles: list[frozenset[str]] = []
    records: dict[str, frozenset[str]] = {}
    for place, passage in while_wanted(enumerate(passages)):
        title = frozenset(word.stem for word in tokens(passage.title))
        titles.append(title)
        own = list(_sentences(place, passage))
        whole = title.union(*(sentence.present for sentence in own))
        if passage.kind is PassageKind.ATTRIBUTE:
            records[passage.title] = whole = records.get(passage.title, frozenset()) | whole
        wholes.append(whole)
        fresh = [sentence for sentence in own if (sentence.text, passage.title) not in seen]
        seen.update((sentence.text, passage.title) for sentence in fresh)
        found += fresh
    for place, passage in enumerate(passages):
        if passage.kind is PassageKind.ATTRIBUTE:
            wholes[place] = records[passage.title]
    return Prepared(tuple(found[:MOST_SENTENCES]), tuple(wholes), tuple(titles))


def _sentences(place: int, passage: Passage) -> Iterator[Sentence]:
    before: frozenset[str] = frozenset()
    for piece in sentences(passage.text):
        text = piece.text[:MOST_SENTENCE_CHARS]
        sentence = Sentence(place, passage, text, piece.start)
        if not sentence.words:
            continue
        sentence.before = before
        before = sentence.present
        yield sentence
