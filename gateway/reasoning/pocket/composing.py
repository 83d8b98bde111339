"""Answers that take more than one reading: comparisons, double questions, yes or no."""

from collections.abc import Sequence
from dataclasses import replace

from gateway.reasoning.pocket.asking import About, Asked
from gateway.reasoning.pocket.reading import Passages, Reading
from language.comparatives import Comparison
from language.dialogue import asked_part, opened
from language.names import names
from language.reference import pointer
from language.values import COUNT, DATE, Measure, bears_out, measure, moment
from language.words import content_stems

MOST_READINGS = 3
"""Answers among which one is sought that a yes or no can be told by."""


async def compare(passages: Passages, asked: Asked, compared: Comparison) -> Reading | None:
    """Which of two has more of it, with both values; None where one is not known, or they do not compare."""
    one, two = [await _side(passages, asked, compared, side) for side in compared.sides]
    if one is None or two is None or one[1].dimension != two[1].dimension:
        return None
    (first, a), (second, b) = one, two
    larger = compared.later if a.dimension == DATE else compared.larger
    wins = a.size != b.size and (a.size > b.size) is larger
    said = f"{'Yes' if wins else 'No'}: {a.text} against {b.text}."
    if compared.chooses and a.size == b.size:
        said = f"Both the same: {a.text}."
    elif compared.chooses:
        side, (more, less) = compared.sides[0 if wins else 1], (a, b) if wins else (b, a)
        winner = passages.entity.name if pointer(side) and passages.entity else side
        said = f"{winner[:1].upper()}{winner[1:]}: {more.text} against {less.text}."
    return Reading(said, min(first.confidence, second.confidence), (*first.quotes, *second.quotes))


async def _side(
    passages: Passages, asked: Asked, compared: Comparison, side: str
) -> tuple[Reading, Measure] | None:
    """The measure of one of the two; one that is a measure itself ("longer than 300 m") needs no reading."""
    given = measure(side) if not pointer(side) and not names(side) else None
    if given is not None:
        return Reading(side, 1.0, ()), given
    if compared.placed:
        placed = replace(asked, own=asked.own | content_stems(side))
        return await _measured(passages, compared, side, passages.subjects(asked)[0], placed)
    subject = passages.subjects(asked)[0] if pointer(side) else None
    about = asked if pointer(side) else Asked(side, About.NAMED, (side,), content_stems(side))
    return await _measured(passages, compared, subject or side, subject, about)


async def _measured(
    passages: Passages, compared: Comparison, side: str, subject: str | None, about: Asked
) -> tuple[Reading, Measure] | None:
    for question in compared.asks:
        for reading in await passages.find(question.format(side), subject, about):
            if value := _value(reading, compared.by_age):
                return reading, value
    return None


def _value(reading: Reading, by_age: bool) -> Measure | None:
    dated = (moment(reading.value) or moment(reading.sentence)) if by_age else None
    told = measure(reading.sentence)
    return dated or measure(reading.value) or (told if told and told.dimension != COUNT else None)


async def verdict(passages: Passages, asked: Asked) -> Reading | None:
    """Yes or no, where the question holds a value, and asking openly for one finds its like; else None."""
    question = opened(asked.text)
    for reading in await passages.answers(replace(asked, text=question), MOST_READINGS) if question else ():
        said_so = bears_out(asked.text, reading.sentence)
        if said_so is not None:
            return replace(reading, spoken=f"{'Yes' if said_so else 'No'}. {reading.spoken}")
    return None


def joined(questions: Sequence[str], readings: Sequence[Reading | None], least: float) -> Reading | None:
    """The answers to a double question, and which half could not be answered; None where neither could."""
    known = [reading for reading in readings if reading is not None and reading.confidence >= least]
    if not known:
        return max(filter(None, readings), key=lambda each: each.confidence, default=None)
    missing = [asked for asked, reading in zip(questions, readings, strict=True) if reading not in known]
    told = [f"What I could not find is {asked_part(asked) or 'the rest'}." for asked in missing]
    quotes = tuple(quote for reading in known for quote in reading.quotes)
    said = " ".join(reading.spoken for reading in known)
    return Reading(said, min(reading.confidence for reading in known), quotes, remark=" ".join(told))
