"""A question's words and how telling each is: what every way of reading compares passages with."""

import json
import math
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path

from language.paraphrase import expansions, opposites
from language.questions import Question, read_question
from language.words import STOP_WORDS, Word, is_negation, tokens, word_set

FREQUENCIES = Path(__file__).with_name("stem_frequencies.json")
PARAPHRASED = 0.8
"""What a term counts for where there is only another word for it: less than the word itself."""
_PREPOSITIONS = word_set("""
    with from to of in by for at on into as against about like through after before under
""")


def met(term: str, present: Collection[str]) -> float:
    """1 where the term is there, `PARAPHRASED` where another word for it is, else 0."""
    if term in present:
        return 1.0
    return 0.0 if expansions(term).isdisjoint(present) else PARAPHRASED


def is_negated(words: Sequence[Word]) -> bool:
    """Whether one of the words is a negation."""
    return any(is_negation(word.folded) for word in words)


class Rarity:
    """How telling a stem is, in 0..1: inverse document frequency by sentences, 1 for a stem never seen."""

    def __init__(self, sentences: int, counts: dict[str, int]) -> None:
        self._counts = counts
        self._sentences = sentences
        self._most = math.log((sentences + 1) / 0.5)

    @classmethod
    def load(cls, path: Path = FREQUENCIES) -> "Rarity":
        """What `services.reader.train_pocket` counted."""
        stored = json.loads(path.read_text("utf-8"))
        return cls(stored["sentences"], stored["counts"])

    def of(self, stem: str) -> float:
        """The weight of a stem."""
        return math.log((self._sentences + 1) / (self._counts.get(stem, 0) + 0.5)) / self._most


class WeightedQuestion:
    """A question with the weights of its terms; its focus noun ("what river") need not be in the sentence.

    `subject`: the stems of the name of what it is about, with their weights, where that is known.
    """

    def __init__(self, text: str, rarity: Rarity, subject: str | None = None) -> None:
        self.question: Question = read_question(text)
        self.subject = {word.stem: rarity.of(word.stem) for word in tokens(subject or "")}
        words = self.question.words
        focus = frozenset(self.question.focus)
        told = self.subject.keys() | focus
        terms = [word for word in self.question.terms if word.stem not in told] or list(self.question.terms)
        self.focus = focus
        self.terms = tuple(dict.fromkeys(word.stem for word in terms))
        self.weights = {word.stem: rarity.of(word.stem) for word in self.question.terms}
        self.total = sum(self.weights[term] for term in self.terms) or 1.0
        self.all_stems = frozenset(word.stem for word in words)
        self.pairs = frozenset(zip((w.stem for w in words), (w.stem for w in words[1:]), strict=False))
        self.names = frozenset(word.stem for word in terms if self._is_named(word))
        self.numbers = frozenset(word.stem for word in terms if word.text[0].isdigit())
        self.negated = is_negated(words)
        self.wanted = self.question.wanted
        self._rarity = rarity
        self.opposites = (
            frozenset[str]().union(*(opposites(stem) for stem in self.all_stems)) - self.all_stems
        )

    def _is_named(self, word: Word) -> bool:
        return any(name.start <= word.start < name.end for name in self.question.names)

    def weight(self, stem: str) -> float:
        """How telling the stem is."""
        return self._rarity.of(stem)

    def share(self, present: Collection[str]) -> float:
        """Share, by weight, of the terms that are there."""
        return sum(self.weights[term] for term in self.terms if term in present) / self.total

    def share_met(self, present: frozenset[str]) -> float:
        """As `share`, where another word for a term counts too."""
        return sum(self.weights[term] * met(term, present) for term in self.terms) / self.total

    def of_subject(self, present: Collection[str]) -> float:
        """Share, by weight, of the subject's name that is there; all of it where no subject is known."""
        found = sum(weight for stem, weight in self.subject.items() if stem in present)
        return found / sum(self.subject.values()) if self.subject else 1.0

    def rarest(self, missing: Callable[[str], bool]) -> float:
        """The weight of the most telling term that is missing; 0 if none is."""
        return max((self.weights[term] for term in self.terms if missing(term)), default=0.0)

    @cached_property
    def asks_subject(self) -> bool:
        """Whether the question word is a verb's subject: "who invented", not "who did they invent"."""
        place = self.question.wh
        if place is None or place + 1 >= len(self.question.words) or self.focus:
            return False
        return self.question.words[place + 1].folded not in STOP_WORDS

    @cached_property
    def preposition(self) -> str:
        """The preposition that governs the question word: "what … made of", "in which"."""
        words, place = self.question.words, self.question.wh
        if words and words[-1].folded in _PREPOSITIONS:
            return words[-1].folded
        before = words[place - 1].folded if place else ""
        return before if before in _PREPOSITIONS else ""
