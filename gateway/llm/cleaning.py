"""Makes the model's words fit for searching, detecting and saying: they are trusted no more than input."""

import re
from collections.abc import Iterable, Sequence

from gateway.state import ENTITY_SLOT
from language.words import content_stems, fold, squeeze, unique, visible

LABEL_WORDS = 3
MARKED_LABEL_WORDS = LABEL_WORDS + 1
"""A label with the word that tells it from its like ("red sports car")."""
QUERY_CHARS = 200

_SLOT = re.compile(r"[{\[<]+\s*(?:the\s+)?entity(?:[ _]name)?\s*[}\]>]+", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_ADDRESS = re.compile(r"\b[a-z][a-z0-9+.-]{1,15}://(?:[^\s/?#@]*@)?([^\s/?#]*)[^\s]*", re.IGNORECASE)
_TAG = re.compile(r"</?[A-Za-z!|][^<>]{0,200}>|[*`]{2,}")
_MARK_AT_START = re.compile(r"^\s*(?:[-*•]+|\d{1,2}[.)])\s+")
_LABEL_END = re.compile(r"[.;:!?\n(]")
_GENERIC = frozenset({"thing", "object", "item", "photo", "image", "picture", "something", "it", "this"})


def one_line(text: str) -> str:
    """Without hidden and control characters, white space made single."""
    return " ".join(visible(text).split())


def whole_words(text: str, most_chars: int) -> str:
    """Return as many whole words as fit; of a first one that is too long, its beginning."""
    if len(text) <= most_chars:
        return text
    return text[: most_chars + 1].rpartition(" ")[0] or text[:most_chars]


def without_thoughts(text: str) -> str:
    """Return what comes after the thoughts of a model that thinks aloud; nothing if they never ended."""
    return text.rpartition("</think>")[2].partition("<think>")[0].strip()


def spoken(text: str) -> str:
    """An answer as it may be said and shown: no markup, and of a web address only the host.

    A picture or link in an answer could carry the conversation to its address.
    """
    plain = _TAG.sub("", _LINK.sub(r"\1", one_line(text)))
    return one_line(_ADDRESS.sub(r"\1", plain)).strip("*`_ ")


def label(text: str | None, most_words: int = LABEL_WORDS) -> str | None:
    """A category for the detector: a few plain words in lower case, or None."""
    if text is None:
        return None
    plain = _LABEL_END.split(_MARK_AT_START.sub("", one_line(text)))[0]
    words = re.findall(r"[^\W_]+(?:['’-][^\W_]+)*", plain.casefold())
    phrase = " ".join(words[:most_words])
    return phrase if phrase and phrase not in _GENERIC else None


def labels(texts: Iterable[str], most: int) -> tuple[str, ...]:
    """Labels, each once, in order."""
    plain = [cleaned for text in texts if (cleaned := label(text)) is not None]
    return tuple(unique(plain)[:most])


def listed_label(text: str | None, listed: Sequence[str]) -> str | None:
    """Return the entry of `listed` that the model means, with its telling word if it gave one; else None."""
    chosen = label(text, MARKED_LABEL_WORDS)
    if chosen is None:
        return None
    same = next((entry for entry in listed if squeeze(entry) == squeeze(chosen)), None)
    if same is not None:
        return same
    wider = (
        entry for entry in listed if content_stems(entry) and content_stems(entry) <= content_stems(chosen)
    )
    return chosen if next(wider, None) is not None else None


def entity_name(text: str | None, object_label: str | None) -> str | None:
    """Return a proper name on one line; a mere kind ("car") is none."""
    if text is None:
        return None
    name = spoken(text).strip(" .\"'“”")
    is_kind = fold(name) in _GENERIC or squeeze(name) == squeeze(object_label or "")
    has_letters = any(character.isalnum() for character in name)
    return name if has_letters and not is_kind else None


def search_phrase(text: str) -> str:
    """Return a search of one line and at most `QUERY_CHARS`; no placeholder but `{entity}`."""
    plain = _MARK_AT_START.sub("", one_line(text)).strip("\"'“”` ")
    pieces = [re.sub(r"[{}\[\]<>|]+", " ", piece) for piece in _SLOT.split(plain)]
    return whole_words(one_line(ENTITY_SLOT.join(pieces)), QUERY_CHARS)


def queries(texts: Iterable[str], most: int) -> tuple[str, ...]:
    """Searches, each once, in order; those that ask nothing are dropped."""
    cleaned = (search_phrase(text) for text in texts)
    searches = (text for text in cleaned if squeeze(text.replace(ENTITY_SLOT, "")))
    return tuple(unique(searches)[:most])
