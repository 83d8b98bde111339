"""Answers read off the photo: lists with prices, exercises, and what the lines say of their thing."""

import re
from dataclasses import replace

from contracts.answer import Route
from gateway.reasoning.extractive.composing import finish
from gateway.reasoning.extractive.hours import asked_days, name_of_day
from gateway.reasoning.extractive.labels import read_goods, read_model, read_title
from gateway.reasoning.extractive.lexical import fold
from gateway.reasoning.extractive.lookup import Finding, photo_quotes
from gateway.reasoning.extractive.menu import answer_from_prices
from gateway.reasoning.extractive.photo import joined_lines
from gateway.reasoning.extractive.prose import prose_values
from gateway.reasoning.extractive.question import Analysis, Task
from gateway.reasoning.extractive.readings import Read, clear, sureness
from gateway.reasoning.extractive.reckoning import judge_opening
from gateway.reasoning.extractive.recognition import READERS
from gateway.reasoning.extractive.relation import Answer, Relation
from gateway.reasoning.extractive.signs import life_years
from gateway.reasoning.extractive.values import Kind, find_values
from gateway.reasoning.extractive.worksheet import answer_from_sheet, exercises
from gateway.state import Ask, Findings, PhotoText


def answer_from_photo(ask: Ask, analysis: Analysis, photo_text: PhotoText) -> Finding | None:
    """The answer if the photo's text alone gives it."""
    if not photo_text.lines:
        return None
    if exercises(photo_text) and analysis.task is Task.WORKSHEET:
        return answer_from_sheet(analysis, photo_text)
    if not analysis.chain:
        from_list = answer_from_prices(analysis, photo_text)
        if from_list is not None:
            return from_list
    if analysis.task is Task.OPEN_AT:
        return judge_opening(ask, analysis, Findings(Route.DIRECT, photo_text=photo_text))
    if analysis.task in {
        Task.COMPARE,
        Task.WORKS,
        Task.RULE,
        Task.OPEN_AT,
        Task.CHECK,
        Task.MULTIPLY,
        Task.EXPLAIN,
    }:
        return None
    if analysis.task in {Task.AGE_AT, Task.YEARS_BETWEEN}:
        return _life(analysis, photo_text)
    if analysis.task is Task.READ and not analysis.relations:
        return _read_out(photo_text)
    read = _read_relation(analysis, photo_text)
    if read is not None and _wants_full_date(analysis, read):
        read = replace(read, sure=0.35 * read.sure)
    return _say(analysis, read, photo_text) if read is not None else None


_ALSO_PRINTED = frozenset({"venue", "brand", "price", "volume", "weight", "title", "start time"})
"""What may answer for a kindred relation that is asked in so many words."""


def _read_relation(analysis: Analysis, photo_text: PhotoText) -> Read | None:
    if analysis.task is Task.IDENTIFY and not analysis.relations:
        return identify(analysis, photo_text)
    if analysis.chain and analysis.chain[-1].name != "honoree":
        return None
    asked = [r for i, r in enumerate(analysis.relations[:3]) if i == 0 or r.name in _ALSO_PRINTED]
    for relation in asked:
        reader = READERS.get(relation.name)
        read = reader(photo_text, analysis.text) if reader else read_by_cue(relation, photo_text)
        if read is not None:
            return read
    return None


def _wants_full_date(analysis: Analysis, read: Read) -> bool:
    """Whether a day is asked for ("on which date") and the photo gives only a year."""
    if analysis.answer is not Answer.DATE or len(read.value) != 4:
        return False
    return re.search(r"\b(?:date|day|birthday|exactly)\b", fold(analysis.text)) is not None


def identify(analysis: Analysis, photo_text: PhotoText) -> Read | None:
    """What the thing calls itself: brand and model of a device, the sort of a product, else its title."""
    if analysis.target.label in {"product", "food", "snack", "drink"} or re.search(
        r"\bkind|type|sort\b", fold(analysis.text)
    ):
        goods = read_goods(photo_text, analysis.text)
        if goods is not None:
            return goods
    model = read_model(photo_text, analysis.text)
    if model is not None and re.search(r"\bmodel|device|gadget|machine\b", fold(analysis.text)):
        return model
    return read_title(photo_text, analysis.text)


def read_by_cue(relation: Relation, photo_text: PhotoText) -> Read | None:
    """A value beside the relation's own words on one line ("2-5 players", "Contains 110 seeds")."""
    if relation.answer not in {Answer.NUMBER, Answer.QUANTITY, Answer.PERCENT, Answer.MONEY}:
        return None
    for text, lines in joined_lines(photo_text):
        for value, strength in prose_values(relation, text, ""):
            if strength >= 0.6:
                return Read(_with_noun(value.text, text), lines, sureness(lines, 0.85 * strength))
    timed = [
        (v, lines)
        for text, lines in joined_lines(photo_text)
        for v in find_values(text, Kind.QUANTITY)
        if relation.dimension == "time" and v.unit in {"min", "h", "s"}
    ]
    if len({v.base for v, _ in timed}) == 1:
        return Read(timed[0][0].text, timed[0][1], sureness(timed[0][1], 0.8))
    return None


def _with_noun(value: str, line: str) -> str:
    """`2-5 players` for `2-5 players`, not `2`: the whole range and the noun after it."""
    match = re.search(rf"(?:\d+\s?[-–]\s?)?{re.escape(value)}(?:\s?[-–]\s?\d+)?(?:\s+[^\W\d_]+)?", line)
    return match.group() if match else value


def _life(analysis: Analysis, photo_text: PhotoText) -> Finding | None:
    years = life_years(photo_text)
    if years is None:
        return None
    span = int(years[1]) - int(years[0])
    text = f"About {span} years, from {years[0]} to {years[1]}"
    return Finding(
        finish(text), 0.88 * years[2].score, photo_quotes((years[2].text,), photo_text), f"{span} years"
    )


def _read_out(photo_text: PhotoText) -> Finding | None:
    lines = clear(photo_text)
    if not lines:
        return None
    text = "It says: " + " / ".join(line.text for line in lines[:12])
    return Finding(
        finish(text),
        0.8 * min(line.score for line in lines),
        photo_quotes([n.text for n in lines[:12]], photo_text),
    )


def _say(analysis: Analysis, read: Read, photo_text: PhotoText) -> Finding:
    name = analysis.relations[0].name if analysis.relations else "name"
    when = _when(analysis) if name == "opening hours" else ""
    subject = f"The {name}{when} is {read.value}"
    quotes = photo_quotes([line.text for line in read.lines], photo_text)
    return Finding(finish(subject), round(read.sure, 4), quotes, read.value)


def _when(analysis: Analysis) -> str:
    days = asked_days(analysis.text)
    if not days:
        return ""
    return " on weekdays" if len(days) == 5 else f" on {name_of_day(days[0])}"
