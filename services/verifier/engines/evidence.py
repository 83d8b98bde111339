"""Pieces of text with what they state, and the evidence cut into such pieces."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from chassis.models.wanted import while_wanted
from language.dates import Date, dates
from language.names import Name, mentions, names
from language.paraphrase import expansions
from language.quantities import Quantity, quantities
from language.sentences import sentences
from language.words import STOP_WORDS, Word, content_stems, tokens

Value = Quantity | Date

MOST_STATEMENTS = 24
"""Sentences that are read closely: those that share most with question and answer."""
MOST_CHARS = 2_000
"""Of a text that is read as one sentence, and at most so many amounts and dates in it: more is none."""
_MOST_VALUES = 128


@dataclass(frozen=True, slots=True)
class Facts:
    """A text, its words, what it names and counts, and the `stems` of its content words.

    `plain`: the content words that belong to no amount, date or name. All places are relative to the text.
    """

    text: str
    words: tuple[Word, ...]
    quantities: tuple[Quantity, ...]
    dates: tuple[Date, ...]
    names: tuple[Name, ...]
    plain: tuple[Word, ...]
    stems: frozenset[str]

    @property
    def values(self) -> tuple[Value, ...]:
        """Amounts, then dates."""
        every: tuple[Value, ...] = (*self.quantities, *self.dates)
        return every[:_MOST_VALUES]


@dataclass(frozen=True, slots=True)
class Statement:
    """The sentence `evidence[index][start:end]`.

    `title`: its passage's first line; `around`: the sentences beside it. `stems` are its own and the title's,
    `context` those of its neighbours too.
    """

    facts: Facts
    index: int
    start: int
    end: int
    title: str
    around: str
    stems: frozenset[str]
    context: frozenset[str]

    def is_about(self, name: str) -> bool:
        """Whether the sentence or its title has the name."""
        return mentions(f"{self.title}\n{self.facts.text}", name)


def read(text: str) -> Facts:
    """What a text states."""
    text = text[:MOST_CHARS]
    every, amounts, days, named = tokens(text), quantities(text), dates(text), names(text)
    spans: tuple[Quantity | Date | Name, ...] = (*amounts, *days, *named)
    taken = [(each.start, each.end) for each in spans]
    content = [word for word in every if word.folded not in STOP_WORDS]
    plain = tuple(word for word in content if not any(start <= word.start < end for start, end in taken))
    return Facts(text, every, amounts, days, named, plain, frozenset(word.stem for word in content))


def statements(evidence: Sequence[str], sought: str, entity: str | None) -> list[Statement]:
    """The sentences that share most with `sought`, in order; a stem counts the less, the more have it."""
    wanted = content_stems(sought)
    every = [
        found
        for index, passage in while_wanted(enumerate(evidence))
        for found in _cut(index, passage, entity)
    ]
    shared = [wanted & content_stems(found[3]) for found in every]
    having = Counter(each for found in shared for each in found)
    weights = [sum(1 / having[each] for each in found) for found in shared]
    best = sorted(range(len(every)), key=lambda place: -weights[place])[:MOST_STATEMENTS]
    return [_statement(*every[place]) for place in sorted(best)]


def _cut(index: int, passage: str, entity: str | None) -> Iterator[tuple[int, int, int, str, str, str]]:
    found = sentences(passage)
    title = found[0].text if found and "\n" in passage.strip() else ""
    # The first of several lines names the page; on a sign it may state a fact like the others.
    if any(quantity.dimension for quantity in quantities(title)) and not (entity and mentions(title, entity)):
        title = ""
    for place, each in enumerate(found):
        beside = [other.text for other in found[max(0, place - 1) : place + 2] if other is not each]
        yield index, each.start, each.end, each.text, title, "\n".join(beside)


def _statement(index: int, start: int, end: int, text: str, title: str, around: str) -> Statement:
    facts = read(text)
    stems = facts.stems | content_stems(title)
    return Statement(facts, index, start, end, title, around, stems, stems | content_stems(around))


def covered(wanted: Iterable[str], present: frozenset[str]) -> float:
    """Share of stems that are there, or words for the same, by length, as long words are rarer; 1 of none."""
    every = {each: len(each) for each in wanted}
    found = sum(
        size for each, size in every.items() if each in present or not present.isdisjoint(expansions(each))
    )
    return found / sum(every.values()) if every else 1.0
