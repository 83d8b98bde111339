"""What covers, labels and boxes say: title, people, maker, model, flavour, content, months, ages."""

import re

from gateway.reasoning.extractive.lexical import words
from gateway.reasoning.extractive.naming import looks_like_person
from gateway.reasoning.extractive.photo import (
    height_of,
    joined_lines,
    middle_of,
    prominent,
    proper_case,
    slope_of,
    stacked,
    tallest_block,
)
from gateway.reasoning.extractive.readings import Read, clear, shown, sureness
from gateway.reasoning.extractive.values import Kind, find_values
from gateway.reasoning.extractive.wordlists import FLAVOURS, GOODS, PLANTS
from gateway.state import PhotoText

_PRESS = re.compile(
    (
        r"\b(?:press|books|publishing|publishers?|publications|verlag|editions?|éditions|house|media|"
        r"editore|ediciones|& (?:sons|co)|[A-Z]\w+ & [A-Z]\w+)\b"
    ),
    re.I,
)
_SERIES = re.compile(
    (
        r"\b(?:series|trilogy|saga|chronicles?|mysteries|cycle|quartet|quintet|tales|adventures|files|"
        r"sequence|duology|legends|library|classics|book (?:\d+|one|two|three|four|five)|"
        r"vol(?:ume)?\.? ?\d+|part \d+)\b"
    ),
    re.I,
)
HALL = re.compile(
    (
        r"\b(?:hall|theat(?:re|er)|club|arena|stadium|park|cent(?:re|er)|house|square|church|cathedral|"
        r"castle|gardens?|library|museum|gallery|auditorium|opera|pavilion|grounds?|field|plaza|barn|"
        r"cinema|school|college|palace|rooms?|stage|market|hotel|bar|pub|yard|warehouse|factory|halle|"
        r"salon|forum|dome|chapel|abbey|quay|pier)\b"
    ),
    re.I,
)


def read_title(photo_text: PhotoText, question: str = "") -> Read | None:
    """The tallest lines that stand together."""
    whole = tallest_block(photo_text)
    block = tuple(line for line in whole if not _SERIES.search(line.text)) or whole
    if not block or len(block) > 5:
        return None
    at_edge = any(
        line.box[1] < 0.012 or line.box[3] > 0.988 or line.box[0] < 0.008 or line.box[2] > 0.992
        for line in block
    )
    return Read(" ".join(shown(line) for line in block), block, sureness(block, 0.55 if at_edge else 0.86))


def read_author(photo_text: PhotoText, question: str = "") -> Read | None:
    """`by N`, or the one person-like line outside the title."""
    lines = clear(photo_text)
    for line in lines:
        match = re.match(r"^(?:written |a novel |a story )?by\s+(?P<n>.+)$", line.text, re.I)
        if match and looks_like_person(proper_case(match["n"])):
            return Read(proper_case(match["n"]), (line,), sureness((line,), 0.93))
    title = tallest_block(photo_text)
    people = [
        n
        for n in lines
        if n not in title
        and looks_like_person(shown(n))
        and not _PRESS.search(n.text)
        and not _SERIES.search(n.text)
        and not HALL.search(n.text)
    ]
    people = [n for n in people if len(words(n.text)) <= 4]
    if not people:
        return None
    people.sort(key=lambda n: -height_of(n))
    clear_winner = len(people) == 1 or height_of(people[0]) > 1.25 * height_of(people[1])
    return Read(shown(people[0]), (people[0],), sureness((people[0],), 0.86 if clear_winner else 0.6))


def read_publisher(photo_text: PhotoText, question: str = "") -> Read | None:
    """A line that calls itself a press or a house, low on the cover."""
    title = tallest_block(photo_text)
    found = [
        n for n in clear(photo_text) if n not in title and _PRESS.search(n.text) and len(words(n.text)) <= 5
    ]
    if not found:
        return None
    best = max(found, key=lambda n: n.box[1])
    return Read(shown(best), (best,), sureness((best,), 0.9))


def read_series(photo_text: PhotoText, question: str = "") -> Read | None:
    """A line that calls itself a series, trilogy, mysteries, …"""
    title = tallest_block(photo_text)
    found = [n for n in clear(photo_text) if n not in title and _SERIES.search(n.text)]
    return Read(shown(found[0]), (found[0],), sureness((found[0],), 0.88)) if found else None


def is_product(photo_text: PhotoText) -> bool:
    """Whether the text is a product's: it names goods or a model, or gives contents, energy or months."""
    if any(set(words(line.text)) & GOODS for line in photo_text.lines):
        return True
    readers = (read_model, read_net_content, read_energy, read_sowing)
    return any(read(photo_text) is not None for read in readers)


_SMALL_PRINT = re.compile(r"\b(?:kcal|kj|energy|per|net|ingredients|best before|content|contents)\b", re.I)


def read_brand(photo_text: PhotoText, question: str = "") -> Read | None:
    """The topmost prominent word that is no common word for goods or flavours."""
    tilt = slope_of(photo_text)
    ranked = prominent(photo_text)
    if not ranked or not is_product(photo_text):
        return None
    tall = height_of(ranked[0])
    able = [
        n
        for n in ranked
        if height_of(n) >= 0.35 * tall
        and 1 <= len(words(n.text)) <= 3
        and re.search(r"[^\W\d_]{3}", n.text)
        and not any(c.isdigit() for c in n.text)
    ]
    able = [n for n in able if not set(words(n.text)) & (GOODS | FLAVOURS | PLANTS)]
    able = [n for n in able if not _SMALL_PRINT.search(n.text)]
    if len(able) > 1 and (read_sowing(photo_text) is not None or "seeds" in words(photo_text.plain)):
        able = able[1:]  # on seeds the larger name is the variety's
    if not able:
        return None
    top = min(able, key=lambda n: middle_of(n)[1] - tilt * middle_of(n)[0])
    return Read(shown(top), (top,), sureness((top,), 0.8 if top.score > 0.93 else 0.55))


_MODEL = re.compile(
    r"(?<![\w])(?=[A-Z0-9-]*\d)(?=[A-Z0-9-]*[A-Z])[A-Z0-9]{1,6}[- ]?[A-Z0-9]{1,6}(?:[- ](?:Pro|"
    r"Plus|Max|Mini|Lite|[A-Z0-9]{1,4}))?(?!\w)"
)


def read_model(photo_text: PhotoText, question: str = "") -> Read | None:
    """Letters and digits together, as model numbers are."""
    found: list[Read] = []
    for line in clear(photo_text):
        match = _MODEL.search(line.text)
        if (
            match
            and match.group()[0].isalpha()
            and len(match.group()) >= 3
            and sum(c.isdigit() for c in match.group()) >= 2
        ):
            found.append(Read(match.group(), (line,), sureness((line,), 0.9 if line.score > 0.85 else 0.6)))
    return max(found, key=lambda read: read.sure, default=None)


def read_flavour(photo_text: PhotoText, question: str = "") -> Read | None:
    """A line of flavour words that is not the first half of the goods' own name."""
    found = [
        n
        for n in prominent(photo_text)
        if set(words(n.text)) & FLAVOURS and not find_values(n.text, Kind.QUANTITY)
    ]
    goods = read_goods(photo_text)
    if goods is not None:
        found = [n for n in found if n not in goods.lines] or found
    found.sort(key=lambda n: (bool(set(words(n.text)) & GOODS), -height_of(n)))
    if not found:
        return None
    mixed = bool(set(words(found[0].text)) & GOODS)
    return Read(shown(found[0]), (found[0],), sureness((found[0],), 0.65 if mixed else 0.87))


def read_goods(photo_text: PhotoText, question: str = "") -> Read | None:
    """The sort of product; of two flavour lines the one right above the goods belongs to their name."""
    ranked = prominent(photo_text)
    found = [n for n in ranked if set(words(n.text)) & GOODS and len(words(n.text)) <= 4]
    if not found:
        return None
    base = found[0]
    flavours = [n for n in ranked if n is not base and set(words(n.text)) & FLAVOURS]
    above = [n for n in flavours if n.box[1] < base.box[1] and stacked(n, base)]
    lines = (above[0], base) if above and len(flavours) > 1 else (base,)
    return Read(" ".join(shown(n) for n in lines), lines, sureness(lines, 0.85))


def read_plant(photo_text: PhotoText, question: str = "") -> Read | None:
    """The plant that a packet names."""
    found = [n for n in prominent(photo_text) if set(words(n.text)) & PLANTS]
    return Read(shown(found[0]), (found[0],), sureness((found[0],), 0.87)) if found else None


def read_variety(photo_text: PhotoText, question: str = "") -> Read | None:
    """The largest line beside the plant's name."""
    plant = read_plant(photo_text)
    if plant is None:
        return None
    known = plant.lines
    tall = height_of(plant.lines[0])
    for line in prominent(photo_text):
        plain = not any(c.isdigit() for c in line.text) and not _SEASON.search(line.text)
        if line not in known and plain and height_of(line) >= 0.3 * tall:
            return Read(shown(line), (line,), sureness((line,), 0.85))
    return None


_SEASON = re.compile(
    r"\b(?:sow(?:ing)?|plant(?:ing)?|contains|january|february|march|april|may|june|july|august|september"
    r"|october|november|december)\b",
    re.I,
)


def read_net_content(photo_text: PhotoText, question: str = "") -> Read | None:
    """A mass or volume that stands by itself, not a nutrient's."""
    for line in clear(photo_text):
        for value in find_values(line.text, Kind.QUANTITY):
            alone = len(words(line.text)) <= 4 or re.search(r"\bnet\b", line.text, re.I)
            if (
                value.dimension in {"mass", "volume"}
                and alone
                and not re.search(r"\bper\b|/", line.text, re.I)
            ):
                return Read(value.text, (line,), sureness((line,), 0.88))
    return None


def read_energy(photo_text: PhotoText, question: str = "") -> Read | None:
    """The number beside kcal, across lines."""
    lines = clear(photo_text)
    for first, second in zip(lines, [*lines[1:], None], strict=True):
        joined = first.text + (f" {second.text}" if second else "")
        match = re.search(r"(?P<n>\d[\d.,]*)\s*(?P<u>kcal|cal(?:ories)?|kJ)\b", joined, re.I)
        if match:
            used = (first,) if second is None or match.end() <= len(first.text) else (first, second)
            return Read(f"{match['n']} {match['u']}", used, sureness(used, 0.88))
    return None


def read_age(photo_text: PhotoText, question: str = "") -> Read | None:
    """`from 8 years`, `ages 8+`, `18 and over`."""
    for text, lines in joined_lines(photo_text):
        match = _AGES.search(text)
        if match:
            return Read(f"{match[1] or match[2]} years", lines, sureness(lines, 0.85))
    return None


_AGES = re.compile(
    r"\b(?:from|ages?|aged|over|minimum age:?)\s*(\d{1,2})\s*(?:\+|years?|and up)"
    r"|\b(\d{1,2})\s*(?:\+|and (?:over|up|older)|years? (?:and|\+))",
    re.I,
)


def read_sowing(photo_text: PhotoText, question: str = "") -> Read | None:
    """The months to sow, as a packet gives them."""
    for line in clear(photo_text):
        match = re.search(
            r"\b(?:sow(?:ing)?|plant(?:ing)?)\b:?\s*(?:from\s+|in\s+|between\s+)?(?P<m>.+)$", line.text, re.I
        )
        if match and find_values(match["m"] + " 2000", Kind.DATE):
            return Read(match["m"].strip(), (line,), sureness((line,), 0.9))
    return None
