"""Words with their positions, stems and folded forms, and hedging words."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from threading import local
from typing import ParamSpec, TypeVar

import snowballstemmer

P = ParamSpec("P")
T = TypeVar("T")


def word_set(text: str) -> frozenset[str]:
    """Return the words of a list separated by spaces."""
    return frozenset(text.split())


STOP_WORDS = word_set("""
    a an the this that these those some any each every either neither no none all both such same other another
    i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its
    itself we us our ours ourselves they them their theirs themselves who whom whose which what whatever
    whichever where when why how there here
    be am is are was were been being do does did doing done have has had having can could will would shall
    should may might must ought let get gets got
    about above across after against along among around as at before behind below beneath beside besides
    between beyond by despite down during except for from in inside into like near of off on onto out outside
    over per since than through throughout till to toward towards under until unto up upon via with within
    without and but or nor if so yet because while whereas although though unless whether then else
    not only just also too very quite rather even still ever never again already once now
    many much more most few fewer less least lot lots
    ain't aren't can't cannot couldn't didn't doesn't don't hadn't hasn't haven't isn't mustn't shan't
    shouldn't wasn't weren't won't wouldn't
    s t d ll m re ve say says said tell know please thank thanks hey hi hello ok okay
    something anything everything someone anyone
""")
"""Words that hold sentences together or address the listener, folded."""

REMEMBERED_CHARS = 2000
"""Longest text whose result is cached, so that a cache full of hostile texts stays small (tens of MB)."""
_WORD_CHARS = 64
"""The same limit for words, of which more are cached."""

_HIDDEN = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064"
    "\u2066-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e007f]"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_LETTERS = r"[^\W\d_]+(?:[\u0300-\u036f]+[^\W\d_]*)*"
_WORD = re.compile(rf"\d+(?:[.,:]\d+)*|{_LETTERS}(?:['’]{_LETTERS})*")
_CLITIC = re.compile(r"['’](?:s|re|ve|ll|d|m)\Z", re.IGNORECASE)

_stemmers = local()


@dataclass(frozen=True, slots=True)
class Word:
    """`text` equals `source[start:end]`, in code points; `folded` and `stem` are for comparing."""

    text: str
    start: int
    end: int
    folded: str
    stem: str


def memoize(most: int, chars: int = REMEMBERED_CHARS) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Cache the results of the `most` latest calls of a function of strings, but none of longer strings."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        cached = lru_cache(maxsize=most)(function)

        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            length = 0
            for text in args:
                length += len(text)  # type: ignore[arg-type]
            return (cached if length <= chars else function)(*args, **kwargs)  # type: ignore[arg-type]

        call.__doc__ = function.__doc__
        return call

    return decorate


def visible(text: str) -> str:
    """Return the text without control, zero-width, bidirectional and tag characters, which hide text."""
    return _CONTROL.sub(" ", _HIDDEN.sub("", text))


def fold(text: str) -> str:
    """Return lower case without accents, for comparisons; the length can differ from the original."""
    return text.lower() if text.isascii() else _fold_letters(text)


@memoize(8192)
def _fold_letters(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(c for c in decomposed if not unicodedata.combining(c))
    return bare.casefold().replace("’", "'").replace("‘", "'")


@memoize(16384, _WORD_CHARS)
def stem(word: str) -> str:
    """Return the English stem (Snowball) of a folded word."""
    stemmer = getattr(_stemmers, "english", None)
    if stemmer is None:
        stemmer = _stemmers.english = snowballstemmer.stemmer("english")
    return str(stemmer.stemWord(word))


@memoize(512)
def tokens(text: str) -> tuple[Word, ...]:
    """Return the words and numbers of a text in order; "Anna's" is "Anna", "they're" is "they"."""
    result = []
    for match in _WORD.finditer(text):
        start = match.start()
        word, folded, stemmed = _forms(match.group())
        result.append(Word(word, start, start + len(word), folded, stemmed))
    return tuple(result)


@memoize(16384, _WORD_CHARS)
def _forms(shown: str) -> tuple[str, str, str]:
    """Return a word without its clitic, folded, and its stem."""
    word = _CLITIC.sub("", shown)
    folded = fold(word)
    return word, folded, stem(folded)


@memoize(16384, _WORD_CHARS)
def _fold(shown: str) -> str:
    """Return a word without its clitic, folded; stemming would cost far more."""
    return fold(_CLITIC.sub("", shown))


@memoize(2048)
def words(text: str) -> tuple[str, ...]:
    """Return folded words in order, without possessives."""
    return tuple(map(_fold, _WORD.findall(text)))


@memoize(2048)
def content_stems(text: str) -> frozenset[str]:
    """Return the stems of words with meaning."""
    return frozenset(stem(word) for word in words(text) if word not in STOP_WORDS)


@memoize(2048)
def squeeze(text: str) -> str:
    """Return folded letters and digits only: OCR loses spaces, so names are compared without them."""
    return "".join(c for c in fold(text) if c.isalnum())


def unique(items: Iterable[str]) -> list[str]:
    """Return the items in order, each once by its squeezed form."""
    seen: dict[str, str] = {}
    for item in items:
        seen.setdefault(squeeze(item), item)
    return list(seen.values())


_HEDGES = re.compile(
    r"\b(?:probably|perhaps|maybe|possibly|presumably|likely|might|may be|could be|seems?|appears? to"
    r"|looks like|suggests?|typically|usually|generally|normally|on average|assum(?:e|es|ed|ing)"
    r"|as far as i know|i (?:think|believe|guess|suspect)|either [^.]{1,40} or"
    r"|not (?:sure|certain|clear|visible|legible|shown)|unsure|uncertain|unclear|unknown|unable to"
    r"|(?:can ?not|can't|do not|don't) (?:know|tell|say|determine|identify|read|see|make out))\b"
)


def hedges(text: str) -> bool:
    """Return whether the text has a hedging word."""
    return _HEDGES.search(" ".join(fold(text).split())) is not None
