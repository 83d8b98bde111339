"""Names in prose: runs of capitalised words that are no month and no mere sentence start."""

import re
from collections.abc import Iterator
from functools import lru_cache

from gateway.reasoning.extractive.lexical import STOPWORDS, fold, name_words, same_name, squeeze, words
from gateway.reasoning.extractive.values import MONTHS, Kind, Value

_CAP = r"(?:[A-ZÀ-ÞŠŽŁ][\w’'-]*|[A-Z]\.|\d+[A-Z]\w*)"
_SMALL = r"(?:of|the|de|la|le|du|des|da|di|van|von|der|den|del|and|&|on|upon|y|el|al|dos|zu|sur|en)"
_RUN = re.compile(
    rf"(?<![\w])(?:the\s+(?=[A-Z]))?{_CAP}(?:(?:\s+|-){_CAP}|\s+(?:{_SMALL}\s+){{1,2}}{_CAP}|\s+&\s+{_CAP})*"
)
_DAYS = frozenset(
    [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "mon",
        "tue",
        "wed",
        "thu",
        "fri",
        "sat",
        "sun",
    ]
)
_NEVER = (
    _DAYS
    | frozenset(MONTHS) - {"may"}
    | {"i", "it", "he", "she", "they", "we", "you", "isbn", "eur", "usd", "gbp"}
)
_STARTERS = STOPWORDS | frozenset(
    [
        "first",
        "born",
        "originally",
        "today",
        "since",
        "although",
        "however",
        "meanwhile",
        "later",
        "early",
        "after",
        "before",
        "during",
        "despite",
        "once",
        "when",
        "while",
        "published",
        "released",
        "founded",
        "located",
        "made",
        "according",
        "each",
        "every",
        "another",
        "both",
        "many",
        "most",
        "several",
        "readers",
        "critics",
        "visitors",
        "fans",
        "two",
        "three",
        "one",
        "its",
        "his",
        "her",
        "their",
        "located",
        "opening",
        "priced",
        "based",
        "written",
        "painted",
        "designed",
        "edited",
        "available",
        "currently",
        "formerly",
        "now",
        "then",
        "there",
        "here",
        "still",
        "yet",
        "like",
        "unlike",
        "with",
        "without",
        "among",
        "from",
        "about",
        "by",
        "as",
        "at",
        "on",
        "review",
        "buy",
        "read",
        "order",
        "contact",
        "home",
        "menu",
        "about",
        "news",
        "price",
    ]
)
PERSON = re.compile(
    r"^(?:(?:Dr|Mr|Mrs|Ms|Sir|Dame|Prof|Saint|St)\.?\s+)?[A-ZÀ-ÞŠŽŁ][\w’'-]*\.?(?:\s+(?:(?:de|la|"
    r"van|von|der|den|di|da|del|le|du|dos|zu|al|el|bin|"
    r"y)\s+)*[A-ZÀ-ÞŠŽŁ][\w’'-]*\.?){1,4}(?:,? (?:Jr|Sr)\.?)?$"
)
_NOT_PERSON = frozenset(
    [
        "press",
        "books",
        "house",
        "publishing",
        "street",
        "road",
        "gallery",
        "museum",
        "company",
        "ltd",
        "inc",
        "foods",
        "university",
        "school",
        "college",
        "group",
        "association",
        "society",
        "foundation",
        "museum",
        "hall",
        "theatre",
        "institute",
        "market",
        "store",
        "shop",
        "cafe",
        "café",
        "bakery",
        "studio",
        "studios",
        "award",
        "prize",
        "records",
        "media",
        "verlag",
        "editions",
        "éditions",
        "brothers",
        "&",
        "sons",
        "co",
        "corp",
        "review",
        "times",
        "journal",
    ]
)


@lru_cache(maxsize=2048)
def name_spans(text: str) -> tuple[Value, ...]:
    """All names in a sentence, verbatim, in order."""
    return tuple(_spans(text))


def _spans(text: str) -> Iterator[Value]:
    for match in _RUN.finditer(text):
        start, end = match.span()
        run = match.group()
        if run.startswith("the "):
            start += 4
        start, end = _trim(text, start, end)
        name = text[start:end]
        if (
            fold(name) in STOPWORDS
            or len(squeeze(name)) < 2
            or fold(name).strip(".") in _NEVER
            or not name_words(name)
        ):
            continue
        yield Value(Kind.NAME, name, start, end)


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    possessive = re.search(r"['’]s?$", text[start:end])
    if possessive:
        end = start + possessive.start()
    while True:
        first = re.match(r"([\w’'.-]+)\s+", text[start:end])
        if first is None:
            break
        word = fold(first.group(1)).strip(".")
        sentence_start = start == 0 or text[:start].rstrip()[-1:] in ".!?:"
        if word in _NEVER or (sentence_start and word in _STARTERS and word not in {"the", "a"}):
            start += first.end()
            continue
        break
    if start == 0 and fold(text[start:end]) in _STARTERS:
        return start, start
    while end > start and text[end - 1] in " .,-’'" and not re.search(r"\b[A-Z]\.$", text[start:end]):
        end -= 1
    return start, end


def looks_like_person(name: str) -> bool:
    """Two to five capitalised words, none of which belongs to an organisation."""
    plain = name.title() if name.isupper() else name
    return PERSON.match(plain) is not None and not (set(words(name)) & _NOT_PERSON)


def is_part_of(name: str, other: str) -> bool:
    """Whether one name is the other or lies within it."""
    a, b = squeeze(name), squeeze(other)
    return bool(a) and bool(b) and (a in b or b in a or same_name(name, other))


_GENERIC_AFTER = frozenset(
    [
        "review",
        "reviews",
        "price",
        "prices",
        "specs",
        "specifications",
        "buy",
        "wiki",
        "guide",
        "shop",
        "book",
        "novel",
        "painting",
        "by",
        "information",
        "info",
        "details",
        "facts",
        "summary",
        "manual",
        "nutrition",
        "official",
        "product",
        "overview",
        "profile",
        "page",
        "the",
        "test",
        "store",
        "and",
        "artist",
        "author",
        "biography",
        "opening",
        "hours",
        "menu",
        "exhibition",
        "museum",
        "gallery",
        "tickets",
        "event",
        "programme",
        "program",
    ]
)


@lru_cache(maxsize=4096)
def names_exactly(text: str, name: str) -> bool:
    """Whether the text names this thing and not a longer-named sibling ("X 300" in "X 300 Pro")."""
    pattern = r"\W+".join(re.escape(w) for w in re.findall(r"[^\W_]+", name))
    if not pattern:
        return False
    for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.I):
        after = re.match(r"(?:\s|-)+([A-ZÀ-Þ0-9][\w-]*)", text[match.end() :])
        if after is None or fold(after.group(1)) in _GENERIC_AFTER | _STARTERS:
            return True
    return False
