"""The pocket reader: what it finds in prose, attributes and print, and what it leaves alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.reader.engine import Answer, Passage, PassageKind, Query
from services.reader.engines.pocket import PocketReader
from services.reader.engines.prose import MOST_SPOKEN
from services.reader.spoken import said, spoken

CANAL = Passage(
    "The Gota Canal was dug between 1810 and 1832. Its chief engineer was Baltzar von Platen, who died before"
    " it opened. About 58,000 soldiers worked on it, most of them with shovels.",
    "Gota Canal",
)
LIGHTHOUSE = Passage(
    "The lighthouse on Fastnet Rock was first lit in 1904. It stands 54 metres tall and is built of granite.",
    "Fastnet Rock",
)


@pytest.fixture(scope="module")
def reader() -> PocketReader:
    return PocketReader()


def first(
    reader: PocketReader, question: str, *passages: Passage, subject: str | None = None
) -> Answer | None:
    return next(iter(reader.read(Query(question, subject), passages)), None)


@pytest.mark.parametrize(
    ("question", "span"),
    [
        ("Who was the chief engineer of the Gota Canal?", "Baltzar von Platen"),
        ("How many soldiers worked on the Gota Canal?", "58,000"),
        ("How tall is the lighthouse on Fastnet Rock?", "54 metres"),
        ("In what year was the lighthouse on Fastnet Rock first lit?", "1904"),
    ],
)
def test_prose_is_read_for_the_wanted_type(reader: PocketReader, question: str, span: str) -> None:
    found = first(reader, question, LIGHTHOUSE, CANAL)
    assert found is not None
    passage = (LIGHTHOUSE, CANAL)[found.passage]
    assert span in found.spoken
    assert span in passage.text[found.sentence.start : found.sentence.end]


def test_what_this_stands_for_decides_which_passage_answers(reader: PocketReader) -> None:
    tower = Passage("The lighthouse at Kallo was first lit in 1871. It is built of brick.", "Kallo")
    asked = "When was this lighthouse first lit?"
    fastnet = first(reader, asked, LIGHTHOUSE, tower, subject="Fastnet Rock")
    kallo = first(reader, asked, LIGHTHOUSE, tower, subject="Kallo")
    assert fastnet is not None
    assert "1904" in fastnet.spoken
    assert kallo is not None
    assert "1871" in kallo.spoken


def record(key: str, value: str, thing: str = "Ribe Cathedral") -> Passage:
    return Passage(f"The {key} of {thing} is {value}.", thing, PassageKind.ATTRIBUTE)


def test_an_attribute_is_found_by_another_word_for_its_key(reader: PocketReader) -> None:
    found = first(
        reader,
        "Who designed this?",
        record("height", "52 m"),
        record("architect", "Amberg Olsen"),
        record("number of steps", "248"),
        subject="Ribe Cathedral",
    )
    assert found is not None
    assert found.spoken == "Architect: Amberg Olsen."
    assert found.probability > 0.5


def test_a_value_that_is_part_of_the_thing_s_name_answers_and_the_whole_name_does_not(
    reader: PocketReader,
) -> None:
    drill = "Halvor DX 40"
    known = (record("brand", "Halvor", drill), record("model", drill, drill), record("weight", "2 kg", drill))
    found = first(reader, "Who makes this?", *known, subject=drill)
    assert found is not None
    assert found.spoken == "Brand: Halvor."
    assert all(each.spoken != f"Model: {drill}." for each in reader.read(Query("Which?", drill), known, 3))


def test_a_bare_year_is_that_of_the_making_and_of_nothing_else(reader: PocketReader) -> None:
    known = (record("type", "organ"), record("year", "1731"), record("maker", "A. Olsen"))
    built = first(reader, "When was it built?", *known, subject="Ribe Cathedral")
    sold = first(reader, "When was it sold?", *known, subject="Ribe Cathedral")
    assert built is not None
    assert (built.spoken, built.probability > 0.5) == ("Year: 1731.", True)
    assert sold is None or sold.probability < 0.4


def test_a_key_with_of_in_it_is_read_whole(reader: PocketReader) -> None:
    records = (record("height", "52 m"), record("number of steps", "248"))
    found = first(reader, "How many steps does this have?", *records, subject="Ribe Cathedral")
    assert found is not None
    assert found.spoken == "Number of steps: 248."


@pytest.mark.parametrize(
    "question",
    [
        "Where does the silver in the bishop's crozier come from?",
        "Who painted the portrait of the queen?",
        "How deep is the harbour?",
    ],
)
def test_attributes_of_a_thing_do_not_answer_questions_about_something_else(
    reader: PocketReader, question: str
) -> None:
    known = (
        record("country of origin", "Denmark"),
        record("height", "52 m"),
        record("architect", "A. Olsen"),
    )
    found = first(reader, question, *known, subject="Ribe Cathedral")
    assert found is None or found.probability < 0.4


def test_a_direction_sign_tells_the_distance_of_the_place_asked_for(reader: PocketReader) -> None:
    sign = Passage("ODENSE 46 km\nSVENDBORG 71 km\nNYBORG 18 km", kind=PassageKind.PHOTO)
    found = first(reader, "How far is it to Svendborg?", sign)
    assert found is not None
    assert "71" in found.spoken


def test_a_price_beside_a_dish_belongs_to_it_by_its_height_in_the_photo(reader: PocketReader) -> None:
    menu = Passage(
        "Lentil soup\nGrilled trout\n7.50\n14.90",
        kind=PassageKind.PHOTO,
        boxes=((0.1, 0.2, 0.5, 0.25), (0.1, 0.4, 0.5, 0.45), (0.8, 0.2, 0.9, 0.25), (0.8, 0.4, 0.9, 0.45)),
    )
    found = first(reader, "How much is the lentil soup?", menu)
    assert found is not None
    assert "7.50" in found.spoken


def test_a_number_belongs_to_the_noun_below_it_in_its_column(reader: PocketReader) -> None:
    label = Passage(
        "14\n350\nstitches\npieces",
        kind=PassageKind.PHOTO,
        boxes=((0.1, 0.2, 0.3, 0.3), (0.6, 0.2, 0.8, 0.3), (0.1, 0.35, 0.3, 0.4), (0.6, 0.35, 0.8, 0.4)),
    )
    for question, number in (("how many stitches are there?", "14"), ("how many pieces?", "350")):
        found = first(reader, question, label)
        assert found is not None
        assert found.spoken == f"{number}."


def test_print_that_only_repeats_the_question_is_no_answer(reader: PocketReader) -> None:
    cover = Passage("Inga Moen\nThe Ferry", kind=PassageKind.PHOTO)
    found = reader.read(Query("which prize did Inga Moen win?"), [cover], 3)
    assert [each.spoken for each in found] == ["The Ferry."]


def test_nothing_is_read_where_nothing_is_shared(reader: PocketReader) -> None:
    assert reader.read(Query("Which spider builds orb webs?"), [CANAL]) == []
    assert reader.read(Query("Which spider builds orb webs?"), []) == []


def test_answers_come_best_first_and_from_different_sentences(reader: PocketReader) -> None:
    found = reader.read(Query("Who worked on the Gota Canal?"), [CANAL, LIGHTHOUSE], top_n=3)
    assert len(found) > 1
    assert [each.probability for each in found] == sorted((e.probability for e in found), reverse=True)
    assert len({(each.passage, each.sentence) for each in found}) == len(found)


def test_a_passage_given_twice_is_no_rival_of_itself(reader: PocketReader) -> None:
    once = first(reader, "How many soldiers worked on the Gota Canal?", CANAL)
    twice = first(reader, "How many soldiers worked on the Gota Canal?", CANAL, CANAL)
    assert once is not None
    assert twice is not None
    assert twice.probability == pytest.approx(once.probability)


@given(st.text(max_size=200), st.lists(st.text(max_size=400), max_size=4))
def test_any_text_gives_verbatim_spans_and_probabilities(
    reader: PocketReader, question: str, texts: list[str]
) -> None:
    passages = [Passage(text, kind=kind) for text in texts for kind in PassageKind]
    for found in reader.read(Query(question or "?"), passages, top_n=8):
        text = passages[found.passage].text
        assert (
            0 <= found.sentence.start <= found.span.start < found.span.end <= found.sentence.end <= len(text)
        )
        assert 0.0 <= found.probability <= 1.0
        assert len(found.spoken.split()) <= MOST_SPOKEN


def test_a_page_of_one_endless_line_is_read_in_bounds(reader: PocketReader) -> None:
    endless = Passage("canal " * 3_300)
    assert len(reader.read(Query("Who dug the canal?"), [endless] * 8, top_n=8)) <= 2


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("which was opened in 1890 (by the Prince)", "Was opened in 1890."),
        ("the bridge[3] is 2,467 m long", "The bridge is 2,467 m long."),
        ("NO LITTER", "NO LITTER."),
        ("iPhone users", "iPhone users."),
    ],
)
def test_what_is_said_has_no_marks_for_the_eye(text: str, heard: str) -> None:
    assert said(text) == heard


def test_a_span_is_said_with_its_clause() -> None:
    sentence = "After long debates, it was opened on 30 June 1894, although the towers were unfinished."
    assert (
        spoken("When was it opened?", sentence, "30 June 1894", None, "") == "It was opened on 30 June 1894."
    )
