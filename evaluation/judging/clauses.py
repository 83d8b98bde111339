"""The parts of a gold sentence: what it is about, what it says of it, and the proper names in it."""

import re
from dataclasses import dataclass

_QUOTED = re.compile(r"[“\"«]([^”\"»]{2,80})[”\"»]")
_WORD = r"[A-Z0-9](?:[\w'’.&-]*[\w'’])?"
_RUN = re.compile(
    rf"(?<![\w'’€$£.,:-]){_WORD}"
    rf"(?:(?:,? (?:&|and) | (?:(?:of|the|de|la|le|van|von|der|du|for|del|da|al|a) )*|-){_WORD})*"
)
_NO_NAME = re.compile(r"[\d.,]+ ?[A-Z]?|(?:[\d.,]+ ?)?(?:AM|PM|Celsius|Fahrenheit)")
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|had|can|could|will|would|should|does|did|may|must|costs?|comes?|came|belongs?"
    r"|opens?|closes?|weighs?|measures?|contains?|lasts?|serves?|made|makes|wrote|studied|grows?|delivers?|takes?"
    r"|took|holds?|lies|hangs|plays?|ranks?|means?|uses?|needs?|lives?|lived|won|directed|founded|designed|painted"
    r"|built|became|starred|released|originated?s?|features?|includes?|offers?|provides?|requires?|sells?|charges?|died|born|worked|shows?|starts?|started|began|begins?|ends?|ended|keeps?)\b"
)
_STARTERS = frozenset(
    (
        "the", "a", "an", "it", "its", "this", "that", "these", "those", "he", "she", "they", "his", "her",
        "their", "in", "on", "at", "by", "for", "from", "there", "according", "based", "yes", "no", "i", "as",
        "while", "although", "both", "each", "one", "some", "most", "many", "all", "you", "if", "when", "to",
        "with", "about", "around", "approximately", "over", "up", "well", "here",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """A proper name and where it stands. `sure`: capitals that no sentence's beginning explains."""

    text: str
    start: int
    end: int
    sure: bool


def subject_and_rest(sentence: str) -> tuple[str, str]:
    """What comes before the first verb, and what comes after it; no verb, no subject."""
    opening = next(iter(runs(sentence)), None)
    begin = opening.end if opening is not None and not sentence[: opening.start].strip() else 0
    verb = _VERB.search(sentence, begin)
    if verb is None:
        return "", sentence
    return sentence[: verb.start()].strip(), sentence[verb.end() :].strip()


def runs(text: str) -> list[Run]:
    """Quoted names and capitalised runs, in order; numbers by themselves are none."""
    quoted = [Run(match[1], match.start(1), match.end(1), True) for match in _QUOTED.finditer(text)]
    found = list(quoted)
    for match in _RUN.finditer(text):
        if any(quote.start <= match.start() < quote.end for quote in quoted):
            continue
        run = _trimmed(text, match)
        if run is not None:
            found.append(run)
    return sorted(found, key=lambda run: run.start)


def _trimmed(text: str, match: re.Match[str]) -> Run | None:
    """Without a word that is capital only because a sentence begins; None where no name is left."""
    words, start = match.group().split(" "), match.start()
    opens = start == 0 or text[:start].rstrip()[-1:] in {".", "!", "?", ":"}
    if opens and words[0].lower() in _STARTERS:
        start += len(words[0]) + 1
        words, opens = words[1:], False
    while words and words[0].islower():
        start += len(words[0]) + 1
        words = words[1:]
    name = " ".join(words)
    if not any(char.isalpha() and char.isupper() for char in name) or _NO_NAME.fullmatch(name):
        return None
    lone = len(words) == 1 and opens and name[1:].islower()
    return Run(name, start, start + len(name), not lone)
