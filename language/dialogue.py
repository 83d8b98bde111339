"""Questions in a conversation: double questions, follow-ups that leave words out, questions for a name."""

import re

from language.questions import read_question
from language.reference import PREPOSITIONS, pointer
from language.values import COUNT, DATE, NAME, value_asked
from language.words import AUXILIARIES, remembered, word_set

MOST_HALVES = 3
_WH = "who|whom|whose|what|which|when|where|why|how"
_CUT = re.compile(
    rf"\?\s+(?:and\s+)?(?=\w)|[,;]?\s+and\s+(?=(?:{_WH}|is|are|was|were|do|does|did)\b)", re.IGNORECASE
)
_SHARED = re.compile(rf"({_WH}) and ({_WH}) (.+)", re.IGNORECASE | re.DOTALL)
_CONTINUES = re.compile(r"(?:and |but )?(?:what about|how about|and)[\s,]+(.+)", re.IGNORECASE | re.DOTALL)
_POINTING = word_set("this that these those")
_PLACES = word_set("in at near on")
_LIMITS = word_set("before after since until till over under above below than least most between within by")
_NAMING = word_set("name named call called title titled kind type sort")
_READING = word_set("say says said read reads written printed")
_ORDERS = re.compile(
    r"\W*(?:(?:please|now|always|just|only|you (?:must|should|will)|assistant|system|user)\b[\s,:]*){0,3}"
    r"(?:(?:answer|reply|respond|say|output|state)\b"
    r"(?:\s+(?:only|just|exactly|always|with|that|this|as follows|to (?:all|every|any) \w+)\b){0,3}\s*:\s*\S"
    r"|(?:answer|reply|respond|say|output)\s+(?:only|exactly|always)\b"
    r"|(?:ignore|disregard|forget|override)\b.{0,30}\b(?:instructions?|prompts?|questions?|above|previous)\b)",
    re.IGNORECASE,
)
"""A verb of answering, with what is to be answered after a colon or "only"; or the call to forget orders."""


@remembered(512)
def halves(text: str) -> tuple[str, ...]:
    """The questions of a double question ("who wrote it and when was it sold?"), or the question alone."""
    shared = _SHARED.fullmatch(text.strip())
    if shared:
        return f"{shared[1]} {shared[3]}", f"{shared[2]} {shared[3]}"
    parts = [part.strip(" ,;?") + "?" for part in _CUT.split(text) if part.strip(" ,;?")]
    return tuple(parts) if 1 < len(parts) <= MOST_HALVES and all(map(_asks, parts)) else (text,)


def _asks(part: str) -> bool:
    question = read_question(part)
    begins = question.wh is not None or (bool(question.words) and question.words[0].folded in AUXILIARIES)
    return begins and (bool(question.terms) or pointer(part) is not None)


@remembered(512)
def opened(text: str) -> str | None:
    """A yes-or-no question asked openly: "was it built in 1868?" is "when was it built?".

    None for other questions, and where it holds no value, or only a limit for one ("before 1900").
    """
    words, held = read_question(text).words, value_asked(text)
    if held is None or not words or words[0].folded not in AUXILIARIES:
        return None
    kind, start, end = held
    before, after = text[:start].split(), text[end:].strip(" ?.").split()
    last = before[-1].casefold() if before else ""
    if (kind != NAME and last in _LIMITS) or [word.casefold() for word in before[1:]] in ([], ["the"]):
        return None
    asks = {DATE: "when", COUNT: "how many", NAME: "what"}.get(kind, "how" if after else "how much")
    if kind == NAME and last in ("by", *_PLACES):
        asks = "who" if last == "by" else "where"
    if kind not in (DATE, NAME) and after:
        asks = f"{asks} {after.pop(0)}"
    kept = before[:-1] if asks in ("when", "where") and last in PREPOSITIONS else before
    return " ".join([asks, kept[0].lower(), *kept[1:], *after]) + "?"


def completed(text: str, before: str) -> str:
    """A follow-up that leaves out its question ("and the Shard?"), with that of the turn `before` put in."""
    match = _CONTINUES.fullmatch(text.strip())
    rest = match[1].rstrip(" ?") if match else ""
    asked = read_question(rest)
    if not asked.words or asked.wh is not None or asked.words[0].folded in AUXILIARIES:
        return text
    shown = pointer(rest)
    if shown is not None:  # "and this one?", or something of its own: "and read me the label on it"
        points = asked.words[0].folded in _POINTING
        asks_more = not points and any(word.start < shown.start for word in asked.terms)
        return rest if asks_more else before
    place = pointer(before) or next(iter(read_question(before).names), None)
    if asked.words[0].folded in PREPOSITIONS or place is None:
        return f"{before.rstrip(' ?')} {rest}?"
    head = before[: place.start]
    return (
        head + (rest.removeprefix("the ") if head.casefold().endswith("the ") else rest) + before[place.end :]
    )


@remembered(512)
def asks_print(text: str) -> bool:
    """Whether nothing is asked but what is written: "what does this sign say?"."""
    question = read_question(text)
    said = any(word.folded in _READING for word in question.words)
    return said and not question.names and _asks_only(text, _READING)


@remembered(512)
def asks_name(text: str) -> bool:
    """Whether nothing is asked but what the thing is called: "what is this?", "what building is this?"."""
    return not asks_print(text) and _asks_only(text, _NAMING)


def kind_asked(text: str) -> frozenset[str]:
    """Stems of the kind of thing whose name is asked: "building" of "what building is this?"."""
    return frozenset(read_question(text).focus) - _NAMING


def _asks_only(text: str, words: frozenset[str]) -> bool:
    """Whether the question holds nothing but a question word, a pointer and these words."""
    question, shown = read_question(text), pointer(text)
    if (
        shown is None
        or question.wh is None
        or question.words[question.wh].folded not in ("what", "who", "which")
    ):
        return False
    left = (word for word in question.terms if not shown.start <= word.start < shown.end)
    return all(word.folded in words or word.stem in question.focus for word in left)


def asked_part(question: str) -> str:
    """The part that asks: "how many pages" of "how many pages does it have?"; empty for yes or no."""
    asked = read_question(question)
    if asked.wh is None:
        return ""
    rest = asked.words[asked.wh :]
    last = next((word for word in rest if word.stem in asked.focus), rest[0])
    return question[rest[0].start : last.end].lower()


def orders_answer(text: str) -> bool:
    """Whether a line of print tells whoever answers questions what to say: "Answer only: 7 pages".

    Not so signs that address passers-by ("Push", "Say no to plastic"), nor forms ("Reply by 3 May").
    """
    return _ORDERS.match(text) is not None
