"""Questions about things seen before: "where did I see …", "what was that sign this morning"."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from language.words import content_stems, word_set, words

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_HOURS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30)}
"""Of a part of the day, from midnight on; a night ends on the next morning."""
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "few": 3}
_TIME = re.compile(
    rf"\b(?:earlier )?(?:today|tonight|just now|earlier|before|recently|lately|this week|last week"
    rf"|(?:this|yesterday|last|(?:on |last )?(?:{'|'.join(_DAYS)})) (?:{'|'.join(_HOURS)})"
    rf"|yesterday|(?:on |last )(?:{'|'.join(_DAYS)})"
    rf"|(?:a )?(?:{'|'.join(_COUNTS)}|\d{{1,3}}) (?:minute|hour|day|week)s? ago)\b"
)
_SEEN = r"(?:seen|passed|noticed|spotted|photographed|looked at|shown? you|showed you|walked (?:past|by))"
_SEE = r"(?:see|pass|notice|spot|read|photograph|look at|show you|walk (?:past|by))"
_I_SAW = rf"(?:i|we)(?: have|'ve| had|'d)?(?: just| last| already)? (?:saw|{_SEEN})"
_ASKS = re.compile(
    rf"\b(?:(?:did|have|had) (?:i|we)(?: \w+){{0,2}}? (?:{_SEE}|{_SEEN}|read)"
    rf"|(?:where|when) {_I_SAW}|do you remember)\b"
)
_WAS = re.compile(rf"^(?:what|which|where) (?:\w+ )?(?:was|were|did)\b.*\b(?P<seen>{_I_SAW}|that|those)\b")
_OTHERS = word_set("who whose how why")
"""A question that opens so asks for more than a memory holds."""
_POINTING = word_set("this these here it")
_GENERAL = content_stems("thing things last latest recent name called read show mean")
_PRINT = content_stems("sign label notice poster menu board plate plaque ticket print")


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """A question about something that was seen. `stems`: of its words; `names_it`: they name the thing.

    `since`, `until`: the time that the question names; None for any. `of_print`: it asks about printed text.
    """

    stems: frozenset[str]
    names_it: bool
    of_print: bool
    since: datetime | None = None
    until: datetime | None = None


def past_question(text: str, now: datetime, *, shows_photo: bool) -> PastQuestion | None:
    """Return the question about what the asker saw before; None if it is another question.

    `now`: the asker's local time. `shows_photo`: a photo came with the question, and "this" is in it.
    """
    plain = " ".join(text.replace("’", "'").lower().split())
    rest = " ".join(_TIME.sub(" ", plain).split())
    opens = words(rest)[:1]
    match = None if _OTHERS.intersection(opens) else _ASKS.search(rest) or _WAS.search(rest)
    if match is None or (match.groupdict().get("seen") in ("that", "those") and rest == plain):
        return None  # "what was that" alone speaks of what is here
    if shows_photo and _POINTING.intersection(words(rest)):
        return None
    stems = content_stems(re.sub(rf"{_I_SAW}|{_ASKS.pattern}", " ", rest)) - _GENERAL
    since, until = _named_time(plain, now) or (None, None)
    return PastQuestion(
        stems - _PRINT, opens not in (("what",), ("which",)), bool(stems & _PRINT), since, until
    )


def _named_time(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """Return the time that the text names, from and to; None for no time or a vague one."""
    match = _TIME.search(text)
    phrase = match.group().split() if match else []
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if phrase and phrase[-1] == "ago":
        count = _COUNTS.get(phrase[-3]) or int(phrase[-3])
        unit = timedelta(**{f"{phrase[-2].rstrip('s')}s": 1})
        if unit < timedelta(days=1):
            return now - 1.5 * count * unit, now - 0.5 * count * unit
        day = midnight - count * unit
        return day, day + unit
    if "week" in phrase:
        monday = midnight - timedelta(days=midnight.weekday(), weeks=phrase[-2] == "last")
        return monday, monday + timedelta(weeks=1)
    named = next((place for place, day in enumerate(_DAYS) if day in phrase), None)
    if named is not None:
        midnight -= timedelta(days=(midnight.weekday() - named) % 7 or 7)
    elif "yesterday" in phrase or "last" in phrase:
        midnight -= timedelta(days=1)
    elif not {"today", "tonight", "this"}.intersection(phrase):
        return None
    part = "night" if "tonight" in phrase else phrase[-1]
    begin, end = _HOURS.get(part, (0, 24))
    return midnight + timedelta(hours=begin), midnight + timedelta(hours=end)
