"""Reading print: signs, labels, covers and posters are lines with places and sizes, seldom sentences."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields

from language.quantities import quantities
from language.questions import AnswerType
from language.words import word_set
from services.reader.engine import Passage, PassageKind
from services.reader.engines.features import type_match
from services.reader.engines.ranking import RANKED, Piece
from services.reader.engines.terms import WeightedQuestion, met
from services.reader.engines.texts import Candidate, Prepared, Sentence

Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
MOST_LINES = 120
_NAME_WORDS = range(2, 5)
"""A person's name has so many words."""
_THIN = 1e-3
"""Height of a line whose box is empty, so that heights can be compared."""
_NEXT_LINE = 0.8
"""What the noun that is counted is worth on the line below its number, against one on its own line."""
_GOVERNS = {AnswerType.PLACE: word_set("at in on near"), AnswerType.PERSON: frozenset({"by"})}
_ASKS_NAME = word_set("name titl call")
_ASKS_TEXT = word_set("say read write text word print sign messag")


@dataclass(frozen=True, slots=True)
class PrintFeatures:
    """Of a candidate in one line, for a question: what its line, row and neighbours share with the terms."""

    row_coverage: float
    near_coverage: float
    photo_coverage: float
    missing: float
    names: float
    type: float
    counted: float
    counted_lead: float
    governed: float
    only_of_type: float
    same_row: float
    line_below: float
    line_above: float
    relative_height: float
    largest: float
    whole_line: float
    looks_like_person: float
    person_wanted: float
    name_wanted_largest: float
    repeats_terms: float
    bare: float
    asks_text_largest: float
    length: float
    terms: float
    number_of_type: float
    date_of_type: float


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a line, as stems: beside it, and next above and below it in its column."""

    row: frozenset[str]
    above: frozenset[str]
    below: frozenset[str]
    height: float
    """Of the line, as a share of the tallest one's."""


PRINT_NAMES = tuple(field.name for field in fields(PrintFeatures))
PRINT_ANSWER_NAMES = (*PRINT_NAMES, *RANKED)


def printed_pieces(
    asked: WeightedQuestion, prepared: Prepared, passages: Sequence[Passage]
) -> Iterator[Piece]:
    """Every candidate of every line with its features."""
    lines = [each for each in prepared.sentences if each.kind is PassageKind.PHOTO][:MOST_LINES]
    if not lines:
        return
    boxes = _boxes(lines, passages)
    heights = [max(bottom - top, _THIN) for _, top, _, bottom in boxes]
    tallest = max(heights)
    rows, columns = _rows(lines, boxes), _columns(lines, boxes)
    whole = prepared.wholes[lines[0].passage]
    pieces = [[each for each in _pieces(line) if not _repeats(asked, line, each)] for line in lines]
    of_type = sum(type_match(asked.question, piece.types) == 1.0 for each in pieces for piece in each)
    arounds = [Around(rows[i], *columns[i], heights[i] / tallest) for i in range(len(lines))]
    found = [
        (line, piece, around, _counted(asked, line, piece, around))
        for line, around, each in zip(lines, arounds, pieces, strict=True)
        for piece in each
    ]
    most = max((counted for *_, counted in found), default=0.0)
    for line, piece, around, counted in found:
        features = _features(asked, line, piece, around, whole, of_type, (counted, counted - most))
        yield Piece(line, piece.first, piece.last, astuple(features))


def _repeats(asked: WeightedQuestion, line: Sentence, piece: Candidate) -> bool:
    """Whether the words are the question's own."""
    return asked.all_stems.issuperset(line.stems[piece.first : piece.last])


def _pieces(line: Sentence) -> tuple[Candidate, ...]:
    """The line's dates, numbers and names, and the line as a whole."""
    typed = {(each.first, each.last): each.types for each in line.candidates if each.types != {"chunk"}}
    count = len(line.words)
    types = typed.get((0, count), frozenset[str]()) | {"line", "chunk"}
    if not any("number" in each or "date" in each for each in typed.values()):
        types |= {"name"} if all(not word.text[0].islower() for word in line.words) else frozenset()
    typed[0, count] = types
    return tuple(Candidate(first, last, types) for (first, last), types in typed.items())


def _features(
    asked: WeightedQuestion,
    line: Sentence,
    piece: Candidate,
    around: Around,
    whole: frozenset[str],
    of_type: int,
    counted: tuple[float, float],
) -> PrintFeatures:
    own = asked.share_met(around.row)
    above, below = asked.share_met(around.above), asked.share_met(around.below)
    type_ = type_match(asked.question, piece.types)
    inside = line.stems[piece.first : piece.last]
    before = line.words[piece.first - 1].folded if piece.first else ""
    asks_name = bool(_ASKS_NAME & asked.all_stems)
    asks_text = bool(_ASKS_TEXT & asked.all_stems)
    largest = float(around.height > 0.99)
    person = float(
        len(inside) in _NAME_WORDS and all(w.text.isalpha() for w in line.words[piece.first : piece.last])
    )
    return PrintFeatures(
        row_coverage=own,
        near_coverage=max(own, above, below),
        photo_coverage=asked.share_met(whole),
        missing=asked.rarest(lambda term: not met(term, whole)),
        names=len(asked.names & whole) / len(asked.names) if asked.names else 1.0,
        type=type_,
        counted=counted[0],
        counted_lead=counted[1],
        governed=float(before in _GOVERNS.get(asked.wanted, ())),
        only_of_type=float(type_ == 1.0 and of_type == 1),
        same_row=type_ * own,
        line_below=type_ * above,
        line_above=type_ * below,
        relative_height=around.height,
        largest=largest,
        whole_line=float("line" in piece.types),
        looks_like_person=person,
        person_wanted=float(asked.wanted is AnswerType.PERSON) * person,
        name_wanted_largest=float(asks_name or asked.wanted is AnswerType.NAME) * largest,
        repeats_terms=sum(stem in asked.weights for stem in inside) / len(inside),
        bare=float(not asked.terms),
        asks_text_largest=float(asks_text) * largest,
        length=len(inside) / 10,
        terms=len(asked.terms) / 10,
        number_of_type=type_ * ("number" in piece.types),
        date_of_type=type_ * ("date" in piece.types),
    )


def _counted(asked: WeightedQuestion, line: Sentence, piece: Candidate, around: Around) -> float:
    """Whether the number counts what "how many" asks for: by its unit, or a noun beside it or below it."""
    if not asked.question.numeric or not asked.focus or "number" not in piece.types:
        return 0.0
    found = quantities(line.between(piece.first, piece.last))
    units = (each.base / each.value for each in found if each.dimension and each.value)
    if asked.focus & line.present or any(math.isclose(unit, asked.question.unit) for unit in units):
        return 1.0
    return _NEXT_LINE * bool(asked.focus & around.below)


def _boxes(lines: Sequence[Sentence], passages: Sequence[Passage]) -> list[Box]:
    """Where each line stands, in shares of the photo; one below the other where no boxes are told."""
    found: list[Box] = []
    for place, line in enumerate(lines):
        boxes = passages[line.passage].boxes
        number = passages[line.passage].text.count("\n", 0, line.start)
        left, top, right, bottom = boxes[number] if number < len(boxes) else (0.0, place, 1.0, place + 1.0)
        found.append((left, top, right, bottom))
    return found


def _columns(lines: Sequence[Sentence], boxes: Sequence[Box]) -> list[tuple[frozenset[str], frozenset[str]]]:
    """For each line the stems of the next one above it and below it that it overlaps in width."""
    found = []
    for left, top, right, bottom in boxes:
        gaps = {
            place: (high + low) - (top + bottom)
            for place, (begin, high, end, low) in enumerate(boxes)
            if begin < right and left < end
        }
        above = max((place for place in gaps if gaps[place] < 0), key=gaps.__getitem__, default=None)
        below = min((place for place in gaps if gaps[place] > 0), key=gaps.__getitem__, default=None)
        one, other = (frozenset[str]() if each is None else lines[each].present for each in (above, below))
        found.append((one, other))
    return found


def _rows(lines: Sequence[Sentence], boxes: Sequence[Box]) -> list[frozenset[str]]:
    """For each line the stems of all lines beside it: a menu's price belongs to the dish at its height."""
    rows = []
    for _, top, _, bottom in boxes:
        middle = (top + bottom) / 2
        beside = (
            line.present for line, (_, high, _, low) in zip(lines, boxes, strict=True) if high <= middle < low
        )
        rows.append(frozenset[str]().union(*beside))
    return rows
