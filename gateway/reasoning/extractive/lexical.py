"""Words, stems, sentences and names: the text operations that every other part of the reader rests on."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import local

import snowballstemmer

STOPWORDS = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "been",
        "being",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "for",
        "from",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "itself",
        "just",
        "may",
        "me",
        "might",
        "mine",
        "must",
        "my",
        "no",
        "nor",
        "not",
        "of",
        "off",
        "on",
        "once",
        "only",
        "or",
        "our",
        "ours",
        "out",
        "over",
        "own",
        "s",
        "shall",
        "she",
        "should",
        "so",
        "some",
        "such",
        "than",
        "that",
        "the",
        "their",
        "theirs",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "us",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "whether",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "yours",
        "t",
        "d",
        "ll",
        "m",
        "re",
        "ve",
        "am",
        "also",
        "about",
        "please",
        "tell",
        "hey",
        "okay",
        "ok",
        "know",
        "say",
        "says",
        "many",
        "much",
        "get",
        "got",
        "it's",
        "that's",
        "what's",
        "who's",
        "where's",
        "when's",
    ]
)

INVISIBLE = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)*|\d+", re.UNICODE)
_TITLES = "Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|Mt|No|Nos|vs|etc|approx|ca|vol|fig|ed|eds|Inc|Ltd|Co|Corp|Ave|Rd"
_ABBREVIATION = re.compile(rf"(?:\b(?:{_TITLES}|[A-Z]|e\.g|i\.e|a\.m|p\.m))\.$")
_BREAK = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+(?=[\"'“‘(\[]?[A-Z0-9À-Þ])|\s*\n+\s*")

_stemmers = local()


@dataclass(frozen=True, slots=True)
class Sentence:
    """`text` is verbatim: it equals `source[start:end]`."""

    text: str
    start: int
    end: int


def visible(text: str) -> str:
    """The text without control, zero-width, bidirectional and tag characters: they only hide things."""
    return _CONTROL.sub(" ", INVISIBLE.sub("", text))


@lru_cache(maxsize=8192)
def fold(text: str) -> str:
    """Lower case without accents, for comparing; not the same length as the original."""
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(c for c in decomposed if not unicodedata.combining(c))
    return bare.casefold().replace("’", "'").replace("‘", "'")


@lru_cache(maxsize=4096)
def words(text: str) -> tuple[str, ...]:
    """Folded words in order, possessives cut."""
    return tuple(w.removesuffix("'s").removesuffix("'") for w in _WORD.findall(fold(text)))


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """The English stem of a folded word."""
    stemmer = getattr(_stemmers, "english", None)
    if stemmer is None:
        stemmer = _stemmers.english = snowballstemmer.stemmer("english")
    return str(stemmer.stemWord(word))


@lru_cache(maxsize=4096)
def content_stems(text: str) -> frozenset[str]:
    """Stems of the words that carry meaning."""
    return frozenset(stem(w) for w in words(text) if w not in STOPWORDS)


@lru_cache(maxsize=8192)
def squeeze(text: str) -> str:
    """Letters and digits only: OCR loses spaces, so names are compared without them."""
    return "".join(c for c in fold(text) if c.isalnum())


@lru_cache(maxsize=1024)
def sentences(text: str) -> tuple[Sentence, ...]:
    """Sentences with offsets; line breaks always end one, initials and abbreviations never do."""
    found: list[Sentence] = []
    start = 0
    for gap in _BREAK.finditer(text):
        piece = text[start : gap.start()]
        if "\n" not in gap.group() and _ABBREVIATION.search(piece[-8:]):
            continue
        _append(found, text, start, gap.start())
        start = gap.end()
    _append(found, text, start, len(text))
    return tuple(found)


def _append(found: list[Sentence], text: str, start: int, end: int) -> None:
    piece = text[start:end]
    left = start + len(piece) - len(piece.lstrip())
    right = left + len(piece.strip())
    if right > left:
        found.append(Sentence(text[left:right], left, right))


def alike(a: str, b: str) -> bool:
    """Whether two folded words are the same but for a slip of OCR (two in long words); digits never slip."""
    if a == b:
        return True
    shorter = min(len(a), len(b))
    if shorter < 4 or abs(len(a) - len(b)) > 2 or not a.isalpha() or not b.isalpha():
        return False
    left = 0
    while left < shorter and a[left] == b[left]:
        left += 1
    right = 0
    while right < shorter - left and a[-1 - right] == b[-1 - right]:
        right += 1
    slips = max(len(a), len(b)) - left - right
    return slips <= (2 if shorter >= 9 else 1) and (shorter >= 6 or len(a) != len(b))


@lru_cache(maxsize=4096)
def name_words(name: str) -> tuple[str, ...]:
    """The words that tell a name from another; a name of only small words keeps them all."""
    every = words(name)
    kept = tuple(w for w in every if w not in STOPWORDS)
    return kept or every


@lru_cache(maxsize=16384)
def coverage(name: str, text: str) -> float:
    """Share of the name's letters (0..1) found in the text, forgiving OCR slips and lost spaces."""
    wanted = name_words(name)
    if not wanted:
        return 0.0
    present = words(text)
    joined = squeeze(text)
    total = sum(len(w) for w in wanted)
    found = sum(len(w) for w in wanted if _present(w, present, joined))
    return found / total


def _present(word: str, present: Sequence[str], joined: str) -> bool:
    if word in present:
        return True
    if len(word) >= 5 and not word.isdigit() and word in joined:
        return True
    return any(alike(word, other) for other in present)


@lru_cache(maxsize=16384)
def mentions(text: str, name: str) -> bool:
    """Whether the text names the thing: every distinguishing word, close together."""
    wanted = name_words(name)
    if not wanted:
        return False
    key = squeeze(name)
    if len(key) >= 4 and key in squeeze(text):
        return True
    if coverage(name, text) < 0.999:
        return False
    return _span_of(wanted, words(text)) <= 2 * len(wanted) + 2


def _span_of(wanted: Sequence[str], present: Sequence[str]) -> int:
    """Length in words of the shortest window that holds all wanted words."""
    best = len(present) + 1
    for start, word in enumerate(present):
        if not any(alike(word, w) for w in wanted):
            continue
        missing = list(wanted)
        for end in range(start, len(present)):
            missing = [w for w in missing if not alike(present[end], w)]
            if not missing:
                best = min(best, end - start + 1)
                break
    return best


def same_name(a: str, b: str) -> bool:
    """Whether two names are the same but for small words, accents and OCR slips."""
    left, right = name_words(a), name_words(b)
    if not left or not right:
        return False
    if squeeze(a) == squeeze(b):
        return True
    if len(left) != len(right):
        return False
    return all(any(alike(w, v) for v in right) for w in left)


def unique(items: Iterable[str]) -> list[str]:
    """The items in order, each once by its squeezed form."""
    seen: dict[str, str] = {}
    for item in items:
        seen.setdefault(squeeze(item), item)
    return list(seen.values())
