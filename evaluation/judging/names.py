"""Finding a name in an answer, forgiving one slip of character recognition."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from evaluation.judging.text import Token, negated, tokens

_ARTICLES = frozenset({"the", "a", "an"})
_EXTRA_WORDS = 2  # a name may be split by spaces that its accepted spelling does not have
_MIN_MISREAD = 5  # characters; in shorter names one character makes another name
_MIN_DROPPED = 8
_LOOKALIKES = frozenset(
    frozenset(pair)
    for group in (
        "0odq", "ceo", "ao", "ae", "1ijlt", "5s", "68b", "2z", "69gq", "uvn", "hnb", "hk", "vwy", "ft", "fl",
        "rt", "nr", "mn", "pq", "cd",
    )
    for pair in combinations(group, 2)
    if not "".join(pair).isdigit()
)  # fmt: skip
"""Characters that are misread for each other; any other difference makes another name."""


@dataclass(frozen=True, slots=True)
class Mention:
    """Words `start` up to `end` of an answer name something."""

    start: int
    end: int
    exact: bool = True

    def inside(self, other: "Mention") -> bool:
        """Whether the other is longer and covers this one."""
        longer = other.end - other.start > self.end - self.start
        return longer and other.start <= self.start and self.end <= other.end

    def overlaps(self, other: "Mention") -> bool:
        """Whether they share a word."""
        return self.start < other.end and other.start < self.end


def find(names: Iterable[str], words: Sequence[Token], *, slips: bool = True) -> list[Mention]:
    """Every asserted mention of one of `names`, in reading order; exact ones only if there are any."""
    found = [mention for name in names for mention in _mentions(name, words)]
    exact = [mention for mention in found if mention.exact]
    chosen = exact or (found if slips else [])
    return sorted(
        (mention for mention in chosen if not negated(words, mention.start)), key=lambda m: (m.start, -m.end)
    )


def _mentions(name: str, words: Sequence[Token]) -> Iterator[Mention]:
    wanted_words = [token.word for token in tokens(name)]
    while len(wanted_words) > 1 and wanted_words[0] in _ARTICLES:
        wanted_words.pop(0)
    wanted = join(wanted_words)
    if not wanted:
        return
    for start in range(len(words)):
        for end in range(start + 1, min(len(words), start + len(wanted_words) + _EXTRA_WORDS) + 1):
            seen = join([token.word for token in words[start:end]])
            if seen == wanted:
                yield Mention(start, end)
            elif one_slip(wanted, seen):
                yield Mention(start, end, exact=False)


def join(words: Sequence[str]) -> str:
    """Words without their spaces; a mark stays between digits, so that "2 4" is not 24."""
    joined = ""
    for word in words:
        apart = joined and joined[-1].isdigit() and word[0].isdigit()
        joined += f"-{word}" if apart else word
    return joined


def one_slip(wanted: str, seen: str) -> bool:
    """Whether one misread, dropped or added character explains the difference."""
    if wanted.replace("rn", "m") == seen.replace("rn", "m"):
        return len(wanted) >= _MIN_MISREAD
    shared = zip(wanted, seen, strict=False)
    same = next((i for i, (a, b) in enumerate(shared) if a != b), min(len(wanted), len(seen)))
    rest, others = wanted[same:], seen[same:]
    if len(rest) == len(others):
        misread = rest[1:] == others[1:] and frozenset(rest[0] + others[0]) in _LOOKALIKES
        return misread and len(wanted) >= _MIN_MISREAD
    longer, shorter = (rest, others) if len(rest) > len(others) else (others, rest)
    return len(wanted) >= _MIN_DROPPED and longer[1:] == shorter and longer[0].isalpha()
