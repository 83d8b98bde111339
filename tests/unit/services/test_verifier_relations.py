"""The relation that is asked for must be the one that the evidence states, and of the thing asked about."""

import pytest

from services.verifier.engine import Verdict
from services.verifier.engines.pocket import PocketVerifier

ENGINE = PocketVerifier()
REFUSED, ACCEPTED = 0.35, 0.5


def verify(question: str, answer: str, evidence: list[str], entity: str | None) -> Verdict:
    return ENGINE.verify(question, answer, evidence, entity)


def probability(question: str, answer: str, evidence: list[str], entity: str | None) -> float:
    return verify(question, answer, evidence, entity).probability


BRIDGE = [
    "Tower Bridge\nTower Bridge was opened on 30 June 1894. Horace Jones designed it."
    " London Bridge, a mile upstream, was rebuilt in 1973."
]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was this bridge opened?", "30 June 1894."),
        ("When was this bridge opened?", "Opened 30 June 1894."),
        ("When was this bridge opened?", "Tower Bridge was opened in 1894."),
        ("Who designed it?", "Horace Jones."),
        ("Who designed it?", "It was designed by Horace Jones."),
        ("Who was the architect of Tower Bridge?", "Horace Jones."),
        ("When was London Bridge rebuilt?", "1973."),
    ],
)
def test_a_span_or_a_sentence_that_answers_the_question_is_supported(question: str, answer: str) -> None:
    assert probability(question, answer, BRIDGE, "Tower Bridge") >= ACCEPTED


@pytest.mark.parametrize(
    ("question", "answer", "evidence", "entity"),
    [
        (
            "What is the capital of this?",
            "The capital of Polo is Great Khan.",
            ["Marco Polo met the Great Khan in the capital."],
            "Marco Polo",
        ),
        (
            "What is the capital of this?",
            "Great Khan.",
            ["Marco Polo met the Great Khan in the capital."],
            "Marco Polo",
        ),
        (
            "Where does the gold in the mace come from?",
            "The country of origin of Sacred Heart Basilica is France.",
            ["The country of origin of Sacred Heart Basilica is France."],
            "Sacred Heart Basilica",
        ),
        (
            "When was the park beside it opened?",
            "1894.",
            ["The completion year of Wallace Monument is 1894."],
            "Wallace Monument",
        ),
        (
            "How much grain does it take?",
            "The height of Silo 4 is 31 m.",
            ["The height of Silo 4 is 31 m.", "The maker of Silo 4 is Brock."],
            "Silo 4",
        ),
        (
            "Who owns it?",
            "Brock.",
            ["The height of Silo 4 is 31 m.", "The maker of Silo 4 is Brock."],
            "Silo 4",
        ),
    ],
)
def test_a_fact_about_something_else_that_was_not_asked_is_refused(
    question: str, answer: str, evidence: list[str], entity: str
) -> None:
    assert probability(question, answer, evidence, entity) < REFUSED


ATTRIBUTES = [
    "The height of Silo 4 is 31 m.",
    "The width of Silo 4 is 12 m.",
    "The maker of Silo 4 is Brock.",
]


@pytest.mark.parametrize(
    ("question", "answer", "supported"),
    [
        ("How tall is it?", "31 m.", True),
        ("How tall is it?", "The height of Silo 4 is 31 m.", True),
        ("How tall is it?", "12 m.", False),
        ("How wide is it?", "12 m.", True),
        ("How wide is it?", "31 m.", False),
        ("How wide is it?", "The width of Silo 4 is 31 m.", False),
        ("Who made it?", "Brock.", True),
        ("Who made it?", "31 m.", False),
    ],
)
def test_an_attribute_supports_only_what_it_is_called_or_a_word_for_the_same(
    question: str, answer: str, supported: bool
) -> None:
    found = probability(question, answer, ATTRIBUTES, "Silo 4")
    assert found >= ACCEPTED if supported else found < ACCEPTED


@pytest.mark.parametrize(
    ("question", "answer", "evidence"),
    [
        ("How tall is it?", "The height of Sea Roads is 80 cm.", "The length of Sea Roads is 80 cm."),
        ("When was it opened?", "It was opened in 1931.", "Sea Roads burned down in 1931."),
        ("Who owns it?", "The owner of Sea Roads is Ada Finn.", "The chef of Sea Roads is Ada Finn."),
        ("How many chapters has it?", "It has 288 chapters.", "Sea Roads has 288 pages in 31 chapters."),
    ],
)
def test_a_claim_about_another_relation_than_the_evidences_is_refused(
    question: str, answer: str, evidence: str
) -> None:
    assert probability(question, answer, [evidence], "Sea Roads") < REFUSED


@pytest.mark.parametrize(
    ("question", "answer", "evidence"),
    [
        ("Who wrote it?", "Ann Dunn.", "The author of Sea Roads is Ann Dunn."),
        ("Who is the author?", "Ann Dunn.", "Sea Roads was written by Ann Dunn."),
        ("What does it cost?", "14 euros.", "The price of Sea Roads is 14 euros."),
        ("When did he die?", "1944.", "Sea Roads\nHis death in 1944 went unnoticed."),
    ],
)
def test_a_relation_in_other_everyday_words_is_supported(question: str, answer: str, evidence: str) -> None:
    assert probability(question, answer, [evidence], "Sea Roads") >= ACCEPTED


@pytest.mark.parametrize(
    ("evidence", "supported"),
    [
        (["Ben Lomond\nIt is 974 m high."], True),
        (["Ben Lomond is a mountain. It is 974 m high."], True),
        (["Goat Fell\nIt is 874 m high.", "Ben Lomond\nIt is 974 m high."], True),
        (["Goat Fell\nIt is 974 m high."], False),
        (["Goat Fell is 974 m high."], False),
        (["Goat Fell\nIt is 974 m high.", "Ben Lomond\nBen Lomond is popular with walkers."], False),
    ],
)
def test_the_sentence_its_neighbour_or_its_title_must_be_about_the_thing(
    evidence: list[str], supported: bool
) -> None:
    found = probability("How high is this mountain?", "974 m.", evidence, "Ben Lomond")
    assert found >= ACCEPTED if supported else found < REFUSED


def test_a_fact_about_what_belongs_to_the_thing_is_supported() -> None:
    pages = ["Sea Roads\nSea Roads is a novel by Ann Dunn.", "Ann Dunn\nAnn Dunn was born in Cork in 1904."]
    assert probability("Where was the author born?", "Cork.", pages, "Sea Roads") >= ACCEPTED
    assert probability("Where was the author born?", "Dublin.", pages, "Sea Roads") < REFUSED


@pytest.mark.parametrize(
    ("question", "supported"),
    [("Which metal does not rust?", False), ("Which metal rusts?", True)],
)
def test_a_question_that_denies_is_not_answered_by_a_sentence_that_affirms(
    question: str, supported: bool
) -> None:
    found = probability(question, "Iron.", ["Iron is a metal that rusts in damp air."], None)
    assert found >= ACCEPTED if supported else found < ACCEPTED


@pytest.mark.parametrize(
    ("answer", "supported"),
    [
        ("2.6 km.", True),
        ("It is 2.6 km to the castle.", True),
        ("1.4 km.", False),
        ("It is 1.4 km to the castle.", False),
    ],
)
def test_each_line_of_a_sign_states_its_own(answer: str, supported: bool) -> None:
    sign = ["Castle 2.6 km\nStation 1.4 km\nFerry 0.7 km"]
    found = probability("How far is it to the castle?", answer, sign, None)
    assert found >= ACCEPTED if supported else found < ACCEPTED


def test_an_answer_that_only_repeats_the_question_is_not_supported() -> None:
    page = ["Ben Lomond\nBen Lomond was first mapped by Timothy Pont."]
    assert probability("Who mapped Ben Lomond?", "Timothy Pont.", page, "Ben Lomond") >= ACCEPTED
    assert probability("Who mapped Ben Lomond?", "Ben Lomond.", page, "Ben Lomond") < ACCEPTED


def test_what_is_said_of_a_maker_whose_name_its_product_bears_is_supported_and_of_a_sibling_is_not() -> None:
    question, drill = "when was the maker of this drill founded?", "Halvor DX 40"
    bridge, other = f"The brand of {drill} is Halvor.", "The Halvor DX 80 was founded in 1961."
    assert probability(question, "1961.", [bridge, "Halvor was founded in 1961."], drill) >= ACCEPTED
    assert probability(question, "1961.", [bridge, other], drill) < ACCEPTED


def test_a_bare_year_supports_when_a_thing_was_made_and_not_when_it_was_sold() -> None:
    known = ["The year of Ribe Organ is 1731."]
    assert probability("When was this built?", "Year: 1731.", known, "Ribe Organ") >= ACCEPTED
    assert probability("When was this sold?", "Year: 1731.", known, "Ribe Organ") < REFUSED
