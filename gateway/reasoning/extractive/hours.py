"""Opening hours: parsed from signs and pages, so that a day's hours can be read out or a moment checked."""

import re
from dataclasses import dataclass

from gateway.reasoning.extractive.lexical import fold
from gateway.reasoning.extractive.values import WEEKDAYS, Kind, find_values

_DAY = (
    r"(?:mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thu(?:rs?)?(?:day)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?"
    r"|mo|tu|we|th|fr|sa|su|daily|every day|weekday|weekend)s?\b\.?"
)
_SHORT = re.compile(r"\b(mo|tu|we|th|fr|sa|su)\b", re.I)
_TWO = ("mo", "tu", "we", "th", "fr", "sa", "su")
_CLOCK = r"(?:[01]?\d|2[0-4])(?:[:.h][0-5]\d)?\s?(?:[ap]\.?\s?m\b\.?)?"
_ENTRY = re.compile(
    rf"(?P<days>\b{_DAY}(?:\s*(?:-|–|—|to|until|through|,|&|and|/)\s*{_DAY})*)\s*[:,.]?\s*(?:from\s+)?"
    rf"(?:(?P<from>{_CLOCK})\s*(?:-|–|—|to|until|till)\s*(?P<to>{_CLOCK})|(?P<closed>closed|shut|ruhetag))",
    re.I,
)
_LATER = re.compile(
    (
        rf"(?:from\s+)?(?P<from>{_CLOCK})\s*(?:-|–|—|to|until|"
        rf"till)\s*(?P<to>{_CLOCK})[\s,]+(?:on\s+)?(?P<days>{_DAY}(?:\s*(?:-|–|to|through|and|"
        rf",)\s*{_DAY})*)"
    ),
    re.I,
)


@dataclass(frozen=True, slots=True)
class Opening:
    """One day's hours in minutes after midnight; None for a closed day. `shown` as written."""

    start: float | None
    end: float | None
    shown: str

    @property
    def closed(self) -> bool:
        """Whether the day is a day of rest."""
        return self.start is None


def parse_hours(text: str) -> dict[int, Opening]:
    """Hours by weekday (Monday = 0); days that the text does not speak of are missing."""
    found: dict[int, Opening] = {}
    flat = " ".join(text.split())
    for pattern in (_ENTRY, _LATER):
        for match in pattern.finditer(flat):
            got = match.groupdict()
            opening = _opening(got)
            for day in days_of(got["days"], brief=True):
                if opening is not None:
                    found.setdefault(day, opening)
        if found:
            break
    return found


def _opening(got: dict[str, str | None]) -> Opening | None:
    if got.get("closed"):
        return Opening(None, None, "closed")
    start, end = minutes(got["from"] or ""), minutes(got["to"] or "")
    if start is None or end is None:
        return None
    return Opening(
        start,
        end if end > start else end + 1440,
        f"{(got['from'] or '').strip()} – {(got['to'] or '').strip()}",
    )


def minutes(clock: str) -> float | None:
    """Minutes after midnight of `9`, `9:30`, `9 pm`, `21h`."""
    match = re.match(r"\s*(\d{1,2})(?:[:.h](\d\d))?\s?([ap])?", clock, re.I)
    if match is None:
        return None
    hour = int(match[1]) + (12 if (match[3] or "").lower() == "p" and int(match[1]) < 12 else 0)
    hour = 0 if (match[3] or "").lower() == "a" and hour == 12 else hour
    return hour * 60.0 + int(match[2] or 0)


def days_of(text: str, *, brief: bool = False) -> list[int]:
    """The weekdays that a phrase means: `Mon-Fri`, `weekends`; `brief` allows `Mo`, `Sa` too."""
    folded = fold(text)
    if re.search(r"daily|every day", folded):
        return list(range(7))
    if re.search(r"weekdays?\b", folded):
        return list(range(5))
    if "weekend" in folded:
        return [5, 6]
    named = [int(v.number or 0) for v in find_values(text.title(), Kind.WEEKDAY)]
    if not named and brief:
        named = [_TWO.index(m.group(1).lower()) for m in _SHORT.finditer(text)]
    if len(named) == 2 and re.search(r"-|–|—|\bto\b|through|until", folded):
        first, last = named
        return [(first + i) % 7 for i in range((last - first) % 7 + 1)]
    return named


def asked_days(question: str) -> list[int]:
    """The days a question asks about; `during the week` is Monday to Friday."""
    folded = fold(question)
    if re.search(
        r"\b(?:weekdays?|during the week|on week days|working days?|workdays?|monday to friday|mon-fri)\b",
        folded,
    ):
        return list(range(5))
    return days_of(question)


def name_of_day(day: int) -> str:
    """`Monday` for 0."""
    return WEEKDAYS[day].capitalize()
