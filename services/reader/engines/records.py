"""Reading attributes of a known thing: "The <key> of <thing> is <value>." (QA-Dragon, section 3.6.1)."""

import re
from collections.abc import Iterator
from dataclasses import astuple, dataclass, fields

from language.questions import BARE_DATE, TYPE_OF, AnswerType
from language.words import STOP_WORDS, tokens, word_set
from services.reader.engine import PassageKind
from services.reader.engines.features import PassageFeatures, passage_features, type_match
from services.reader.engines.ranking import RANKED, Piece
from services.reader.engines.terms import WeightedQuestion, met
from services.reader.engines.texts import Prepared, Sentence

_LINE = re.compile(r"([A-Z][\w ,'’/-]{1,40}): (\S[^\n]{0,200})")
_RECORD = re.compile(r"(The [^\n]{1,100}?) of [^\n]{1,300}? is ")
_TYPE_NOUNS = word_set("date year time day name number place person amount type kind")


@dataclass(frozen=True, slots=True)
class RecordFeatures:
    """Of one attribute, for a question. `*_by_*`: share, by weight, of what is asked beside the thing."""

    key_asked: float
    asked_by_key: float
    asked_by_record: float
    type: float
    type_alone: float
    only_of_type: float
    wrong_type: float
    names: float
    repeats: float
    named_by_type: float
    year_of_making: float
    subject: float
    subject_lead: float
    subject_in_title: float
    title_lead: float
    bare: float
    key_words: float
    exact: float
    wants_person: float
    wants_date: float
    wants_place: float
    wants_number: float


RECORD_NAMES = tuple(field.name for field in fields(RecordFeatures))
RECORD_ANSWER_NAMES = (*RECORD_NAMES, *RANKED)


def record_pieces(asked: WeightedQuestion, prepared: Prepared) -> Iterator[Piece]:
    """Every attribute with its features."""
    split = [
        (sentence, *parts, _types(sentence, parts[1]))
        for sentence in prepared.sentences
        if (parts := split_record(sentence)) is not None
    ]
    alone = sum(type_match(asked.question, types) == 1.0 for *_, types in split) == 1
    passages = passage_features(asked, prepared)
    own = asked.subject.keys()
    for sentence, key, first, types in split:
        value = frozenset(sentence.stems[first:])
        if value <= asked.all_stems - own or (own and own <= value <= asked.all_stems | own):
            continue  # it says again what the question names; a maker may well stand in its product's name
        features = _features(asked, sentence, key, first, passages[sentence.passage], types, alone)
        yield Piece(sentence, first, len(sentence.words), astuple(features), key)


def split_record(sentence: Sentence) -> tuple[str, int] | None:
    """The key, and the place of the first word of the value; None for a sentence of another form.

    A line of a page such as "Material: granite" is one too, about what its title names.
    """
    if sentence.kind is not PassageKind.ATTRIBUTE:
        line = _LINE.fullmatch(sentence.text) if sentence.kind is PassageKind.PAGE else None
        return _first_word(sentence, line[1], line.start(2)) if line else None
    middle = f" of {sentence.about} is "
    before, found, _ = sentence.text.partition(middle)
    if not found:  # the title is another name for the thing
        match = _RECORD.match(sentence.text)
        if match is None:
            return None
        before, middle = match[1], sentence.text[match.end(1) : match.end()]
    value = len(before) + len(middle)
    return _first_word(sentence, before.removeprefix("The "), value)


def _first_word(sentence: Sentence, key: str, start: int) -> tuple[str, int] | None:
    """The key, and the place of the first word from `start` on; None if there is none."""
    first = next((place for place, word in enumerate(sentence.words) if word.start >= start), None)
    return None if first is None else (key, first)


def _features(
    asked: WeightedQuestion,
    sentence: Sentence,
    key: str,
    first: int,
    passage: PassageFeatures,
    types: frozenset[str],
    alone: bool,
) -> RecordFeatures:
    """`passage`: of all that is known of the thing; `alone`: the only one of the wanted type."""
    record = passage.whole
    key_words = [word for word in tokens(key) if word.folded not in STOP_WORDS]
    key_stems = [word.stem for word in key_words]
    value, known = sentence.stems[first:], asked.all_stems - asked.subject.keys()
    telling = [stem for stem in key_stems if stem not in _TYPE_NOUNS] or key_stems
    present = frozenset(sentence.stems[first:]) | sentence.title
    about = [stem for stem in (*asked.terms, *asked.focus) if stem not in sentence.title]
    about = list(dict.fromkeys(about))
    weights = {stem: asked.weight(stem) for stem in about}
    total = sum(weights.values())
    by_key = sum(weights[stem] * met(stem, frozenset(key_stems)) for stem in about)
    by_record = sum(weights[stem] * met(stem, record | frozenset(key_stems)) for stem in about)
    agreement = type_match(asked.question, types)
    stems = frozenset(about)
    return RecordFeatures(
        key_asked=sum(met(stem, stems) for stem in telling) / max(1, len(telling)),
        asked_by_key=by_key / total if total else 0.0,
        asked_by_record=by_record / total if total else 1.0,
        type=agreement,
        only_of_type=float(alone and agreement == 1.0),
        type_alone=agreement * float(bool(about) and by_key == 0),
        wrong_type=float(asked.question.numeric and not types & {"number", "date"}),
        names=len(asked.names & (present | record)) / len(asked.names) if asked.names else 1.0,
        repeats=len(known.intersection(value)) / len(value),
        named_by_type=float(
            asked.wanted in {TYPE_OF.get(word.folded) for word in key_words} and telling == key_stems
        ),
        year_of_making=float(
            bool(asked.question.making) and {word.folded for word in key_words} <= BARE_DATE
        ),
        subject=passage.subject,
        subject_lead=passage.subject_lead,
        subject_in_title=passage.title,
        title_lead=passage.title_lead,
        bare=float(not about),
        key_words=len(telling) / 4,
        exact=float(bool(telling) and all(stem in stems for stem in telling)),
        wants_person=float(asked.wanted is AnswerType.PERSON),
        wants_date=float(asked.wanted is AnswerType.DATE),
        wants_place=float(asked.wanted is AnswerType.PLACE),
        wants_number=float(asked.question.numeric and asked.wanted is not AnswerType.DATE),
    )


def _types(sentence: Sentence, first: int) -> frozenset[str]:
    """The types of the value's words; a value without any is a plain chunk."""
    inside = [candidate.types for candidate in sentence.candidates if candidate.first >= first]
    return frozenset({"chunk"}).union(*inside)
