"""What a text says yes and no to, word by word: negation, and words that are the opposite of others."""

import re
from collections.abc import Sequence

from services.verifier.engines.text import Word, stem, word_set, words_of

_NEGATORS = word_set("no not never none neither nor without cannot nothing nobody hardly lacks lack free")
_HARMLESS = re.compile(
    r"\b(?:(?:nobody|no ?one|none|no \w+|not) (?:under|below|younger than)"
    r"|no (?:more|less|later|earlier|fewer) than|not (?:only|just|exceed\w*)|nothing but|no\. ?(?=\d)"
    r"|free (?=of charge|entry|admission|delivery)|entry free|for free)\b",
    re.IGNORECASE,
)
_WEEKDAY = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?", re.IGNORECASE)
_REACH = 5  # words that a negator governs, at most
_OPPOSITES = {  # by form, not stem: "closed" is a state, "closes at six" is a time
    word: stem(of)
    for of, words in {
        "open": "closed shut",
        "allowed": "forbidden prohibited banned refused disallowed",
        "safe": "unsafe poisonous toxic dangerous harmful",
        "possible": "impossible",
        "available": "unavailable discontinued",
        "alive": "dead died deceased",
        "true": "false",
        "suitable": "unsuitable",
        "include": "exclude excluded",
        "accept": "reject rejected",
        "edible": "inedible",
        "cheaper": "dearer pricier",
    }.items()
    for word in words.split()
}
_SAME = {
    stem(word): stem(of)
    for of, words in {"allowed": "permitted may", "open": "opens opened", "contains": "includes"}.items()
    for word in words.split()
}


def stances(text: str) -> dict[str, bool]:
    """Stem (opposites under one head) -> whether the text affirms it. The last mention counts."""
    quiet = _HARMLESS.sub(lambda match: " " * len(match.group()), text)
    words = words_of(quiet)
    result: dict[str, bool] = {}
    for position, word in enumerate(words):
        if not word.is_content or word.text.casefold() in _NEGATORS or _WEEKDAY.fullmatch(word.text):
            continue
        affirmed = not _is_negated(quiet, words, position)
        head = _OPPOSITES.get(word.text.casefold())
        if head is not None:
            result[head] = not affirmed
        else:
            result[_SAME.get(word.stem, word.stem)] = affirmed
    return result


def conflicts(claim: dict[str, bool], passage: dict[str, bool]) -> list[str]:
    """Shared words that one affirms and the other denies; none if they deny some word together."""
    shared = claim.keys() & passage.keys()
    if any(not claim[word] and not passage[word] for word in shared):
        return []
    return sorted(word for word in shared if claim[word] != passage[word])


def _is_negated(text: str, words: Sequence[Word], position: int) -> bool:
    """Whether a negator stands shortly before, with no clause boundary between; "sugar-free" negates too."""
    word = words[position]
    if re.match(r"[\s-]free\b", text[word.end :]):
        return True
    for earlier in range(position - 1, max(-1, position - 1 - _REACH), -1):
        if re.search(r"[,;:.!?]|\bbut\b", text[words[earlier].end : word.start]):
            return False
        plain = words[earlier].text.casefold()
        if plain == "but":
            return False
        if plain == "free":
            return _followed_by_of(words, earlier)
        if plain in _NEGATORS or plain.endswith(("n't", "n’t")):
            return True
    return False


def _followed_by_of(words: Sequence[Word], position: int) -> bool:
    return position + 1 < len(words) and words[position + 1].text.casefold() in {"of", "from"}
