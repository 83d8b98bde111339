"""What posters, plaques and shop signs say: dates, times, places, people, lives, hours, addresses."""

import re

from gateway.reasoning.extractive.hours import asked_days, name_of_day, parse_hours
from gateway.reasoning.extractive.labels import HALL
from gateway.reasoning.extractive.lexical import fold, words
from gateway.reasoning.extractive.naming import looks_like_person
from gateway.reasoning.extractive.photo import (
    prominent,
    proper_case,
    tallest_block,
)
from gateway.reasoning.extractive.readings import Read, clear, shown, sureness
from gateway.reasoning.extractive.values import Kind, find_values
from gateway.state import PhotoText, TextLine

_STREET = re.compile(
    (
        r"\b(?:street|st\.|road|rd\.?|lane|avenue|ave\.?|quay|hill|passage|square|row|place|alley|way|"
        r"court|terrace|gate|walk|embankment|parade|crescent|drive|close|yard|boulevard|bridge|wharf|"
        r"mews|grove|rise|strasse|straße|rue|via|calle|platz|plaza|market)\b"
    ),
    re.I,
)
_YEARS = re.compile(r"(?P<a>1\d{3}|20\d\d)\s*[-–—~to]+\s*(?P<b>1\d{3}|20\d\d)")


def read_event_date(photo_text: PhotoText, question: str = "") -> Read | None:
    """The day that a poster announces."""
    found = [(v, n) for n in clear(photo_text) for v in find_values(n.text, Kind.DATE) if v.day or v.month]
    return Read(found[0][0].text, (found[0][1],), sureness((found[0][1],), 0.9)) if found else None


def read_start_time(photo_text: PhotoText, question: str = "") -> Read | None:
    """The clock time that a poster announces; opening hours are ranges and do not count."""
    found = [(v, n) for n in clear(photo_text) for v in find_values(n.text, Kind.TIME)]
    if not found or parse_hours(photo_text.plain) or len({v.number for v, _ in found}) > 2:
        return None
    return Read(found[0][0].text, (found[0][1],), sureness((found[0][1],), 0.88))


def read_venue(photo_text: PhotoText, question: str = "") -> Read | None:
    """A line that names a hall, a theatre, a park, … below the title of a poster with a date."""
    title = tallest_block(photo_text)
    dated = read_event_date(photo_text)
    found = [
        n for n in clear(photo_text) if n not in title and HALL.search(n.text) and len(words(n.text)) <= 6
    ]
    if not found or dated is None:
        return None
    after = [n for n in found if n.box[1] > dated.lines[0].box[1]] or found
    text = re.sub(r"^(?:at|in|venue:?)\s+", "", shown(after[0]), flags=re.I)
    return Read(text, (after[0],), sureness((after[0],), 0.87))


def read_performer(photo_text: PhotoText, question: str = "") -> Read | None:
    """`with N`, `featuring N`, `starring N`."""
    for line in clear(photo_text):
        match = re.match(
            (
                r"^(?:with|feat(?:uring|\.)?|starring|live:?|headliner:?|special guest:?|presents|"
                r"and special guest)\s+(?P<n>.+)$"
            ),
            line.text,
            re.I,
        )
        if match:
            return Read(proper_case(match["n"]), (line,), sureness((line,), 0.9))
    return None


def read_price(photo_text: PhotoText, question: str = "") -> Read | None:
    """The amount beside a ticket word, or the only amount there is."""
    found = [(v, n) for n in clear(photo_text) for v in find_values(n.text, Kind.MONEY)]
    labelled = [
        (v, n)
        for v, n in found
        if re.search(r"\b(?:tickets?|entry|entrance|admission|price|door|only|now)\b", n.text, re.I)
    ]
    chosen = labelled or (found if len({v.number for v, _ in found}) == 1 else [])
    return (
        Read(chosen[0][0].text, (chosen[0][1],), sureness((chosen[0][1],), 0.9 if labelled else 0.75))
        if chosen
        else None
    )


def life_years(photo_text: PhotoText) -> tuple[str, str, TextLine] | None:
    """`1888-1951` on a plaque or a gravestone."""
    for line in clear(photo_text):
        match = _YEARS.search(line.text)
        if match and 0 < int(match["b"]) - int(match["a"]) < 120:
            return match["a"], match["b"], line
    return None


def read_birth(photo_text: PhotoText, question: str = "") -> Read | None:
    """The first year of a life on a plaque."""
    years = life_years(photo_text)
    return (
        Read(years[0], (years[2],), sureness((years[2],), 0.9))
        if years
        else _labelled_year(photo_text, r"\bborn\b|\*")
    )


def read_death(photo_text: PhotoText, question: str = "") -> Read | None:
    """The last year of a life on a plaque."""
    years = life_years(photo_text)
    return (
        Read(years[1], (years[2],), sureness((years[2],), 0.9))
        if years
        else _labelled_year(photo_text, r"\bdied\b|†")
    )


def _labelled_year(photo_text: PhotoText, label: str) -> Read | None:
    for line in clear(photo_text):
        if re.search(label, line.text, re.I):
            for value in find_values(line.text, Kind.DATE):
                return Read(value.text, (line,), sureness((line,), 0.85))
    return None


def read_honoree(photo_text: PhotoText, question: str = "") -> Read | None:
    """The person whose name stands largest on a plaque with the years of a life."""
    if life_years(photo_text) is None:
        return None
    people = [n for n in prominent(photo_text) if looks_like_person(shown(n))]
    return Read(shown(people[0]), (people[0],), sureness((people[0],), 0.88)) if people else None


def read_reason(photo_text: PhotoText, question: str = "") -> Read | None:
    """What a plaque says below the years: why the person is remembered."""
    years = life_years(photo_text)
    if years is None:
        return None
    after = tuple(
        n
        for n in clear(photo_text)
        if n.box[1] > years[2].box[1] and n is not years[2] and re.search(r"[^\W\d_]{2}", n.text)
    )
    if not after or len(after) > 6:
        return None
    return Read(" ".join(n.text for n in after), after, sureness(after, 0.85))


def read_hours(photo_text: PhotoText, question: str = "") -> Read | None:
    """The hours of the asked day, or all of them."""
    hours = parse_hours(photo_text.plain)
    if not hours:
        return None
    lines = tuple(
        n
        for n in clear(photo_text)
        if parse_hours(n.text)
        or find_values(n.text, Kind.TIME)
        or find_values(n.text, Kind.WEEKDAY)
        or fold(n.text) == "closed"
    )
    days = asked_days(question)
    sure = sureness(lines, 0.9) if lines else 0.0
    if days:
        known = {hours[d].shown for d in days if d in hours}
        return Read(known.pop(), lines, sure) if len(known) == 1 else None
    groups: dict[str, list[int]] = {}
    for day in sorted(hours):
        groups.setdefault(hours[day].shown, []).append(day)
    shown = "; ".join(f"{_span(days)} {text}" for text, days in groups.items())
    return Read(shown, lines, sure * 0.95)


def _span(days: list[int]) -> str:
    if len(days) > 1 and days == list(range(days[0], days[-1] + 1)):
        return f"{name_of_day(days[0])} to {name_of_day(days[-1])}"
    return ", ".join(name_of_day(d) for d in days)


def read_closing_day(photo_text: PhotoText, question: str = "") -> Read | None:
    """The day that a sign marks as closed."""
    hours = parse_hours(photo_text.plain)
    closed = [d for d, o in hours.items() if o.closed]
    lines = tuple(
        n for n in clear(photo_text) if "closed" in fold(n.text) or find_values(n.text, Kind.WEEKDAY)
    )
    return Read(_span(closed), lines, sureness(lines, 0.85)) if closed and lines else None


def read_address(photo_text: PhotoText, question: str = "") -> Read | None:
    """Street name, house number, or both, as the question wants."""
    folded = fold(question)
    title = tallest_block(photo_text)
    lines = clear(photo_text)
    numbers = [
        n for n in lines if re.fullmatch(r"(?:no\.? ?|nr\.? ?)?\d{1,4}[a-zA-Z]?", n.text.strip(), re.I)
    ]
    streets = [
        n
        for n in lines
        if n not in title
        and _STREET.search(n.text)
        and len(words(n.text)) <= 5
        and not re.search(r"\b(?:shop|store)\b", n.text, re.I)
    ]
    wants_number = re.search(r"\bnumber\b", folded) is not None and "phone" not in folded
    if wants_number:
        return (
            Read(numbers[0].text.strip(), (numbers[0],), sureness((numbers[0],), 0.88))
            if len(numbers) == 1
            else None
        )
    if not streets:
        return None
    whole = (
        f"{numbers[0].text.strip()} {shown(streets[0])}"
        if numbers and "street" not in folded
        else shown(streets[0])
    )
    return Read(whole, (streets[0],), sureness((streets[0],), 0.87))


def read_phone(photo_text: PhotoText, question: str = "") -> Read | None:
    """A telephone number on the sign."""
    found = [(v, n) for n in clear(photo_text) for v in find_values(n.text, Kind.PHONE)]
    return Read(found[0][0].text, (found[0][1],), sureness((found[0][1],), 0.88)) if len(found) == 1 else None
