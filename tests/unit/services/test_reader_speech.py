"""How the reader shortens answers for speech: sentences, clauses, attributes and table rows."""

import re

import pytest

from chassis.models.encoders import shared_cross_encoder
from chassis.models.windows import SentenceAnswer
from services.reader.engine import Passage, Query
from services.reader.engines.builtin import open_builtin
from services.reader.engines.clauses import find_clauses
from services.reader.engines.rows import say_cell, with_named_rows
from services.reader.engines.spoken import MOST_SPOKEN, speak, speak_attribute, speak_span

TOOLS = (
    "The tools for the wheelhouse cost £390 and may be borrowed for three days at a time; the deposit of £20 "
    "is lost if one comes back dirty or late."
)
MILL = (
    "The mill was closed with planks for fourteen years and rebuilt in paler stone, but the old wheel, which "
    "belonged to nobody, stayed where it was."
)
DUCHY = (
    "The Duchy of Normandy, which began in 911 as a small fiefdom on the coast, was established by the "
    "treaty between King Charles III and the Viking ruler Rollo, and was situated in the Frankish kingdom."
)


def answer_in(sentence: str, span: str) -> SentenceAnswer:
    start = sentence.rindex(span)
    return SentenceAnswer(sentence, start, start + len(span))


@pytest.mark.parametrize(
    ("sentence", "span", "subject", "text"),
    [
        ("The tower is 71 m tall.", "71 m", None, "The tower is 71 m tall."),
        ("It is 98.6 m tall.", "98.6 m", "The Campanile", "The Campanile is 98.6 m tall."),
        ("It is said that 98 people fell.", "98", "The Campanile", "It is said that 98 people fell."),
        ("It is 98.6 m tall.", "98.6 m", None, "It is 98.6 m tall."),
        ("The tower[3] (built 1907) is 71 m tall .", "71 m", None, "The tower is 71 m tall."),
        ("It grew in the [21st] century.", "[21st] century", None, "It grew in the [21st] century."),
        ("It fell (1902) at night.", "1902", "The tower", "The tower fell, 1902, at night."),
        ("opened in 1912", "1912", None, "Opened in 1912."),
        ("He left, and he came back in 1911.", "1911", "Kit", "Kit left, and he came back in 1911."),
        (MILL, "paler stone", None, None),
    ],
)
def test_short_sentence_is_spoken_completely(
    sentence: str, span: str, subject: str | None, text: str | None
) -> None:
    assert speak(answer_in(sentence, span), subject) == text


def test_pronoun_is_kept_if_the_name_is_too_long() -> None:
    clause = f"She flew {'very ' * 22}high."
    assert speak(answer_in(clause, "high"), "Eileen Collins") == clause


@pytest.mark.parametrize(
    ("question", "sentence", "span"),
    [
        ("What do the tools cost?", TOOLS, "£390"),
        ("How much is the deposit?", TOOLS, "£20"),
        ("For how long was the mill closed?", MILL, "fourteen years"),
        ("Of what was it rebuilt?", MILL, "paler"),
        ("When did the duchy begin?", DUCHY, "911"),
    ],
)
def test_clause_has_complete_words_and_the_answer(question: str, sentence: str, span: str) -> None:
    (clause,) = find_clauses(shared_cross_encoder(), question, [answer_in(sentence, span)])
    assert clause is not None
    assert clause.text == span
    assert re.search(rf"(?<!\w){re.escape(clause.sentence)}(?!\w)", sentence)
    assert len(clause.sentence.split()) <= MOST_SPOKEN


def test_clause_of_a_long_sentence_is_spoken() -> None:
    question = Query("How long may the tools be borrowed?")
    (answer,) = open_builtin().read(question, [Passage(f"Dogs are welcome. {TOOLS} It is open daily.")])
    assert answer.spoken == f"{TOOLS.partition(';')[0]}."


@pytest.mark.parametrize("filling", ["a, " * 6_000, "if " * 6_000, "Ada " * 4_500])
def test_no_clause_is_found_beyond_the_readers_limit(filling: str) -> None:
    answer = answer_in(f"It {filling} was built in x Zorn.", "Zorn")
    (clause,) = find_clauses(shared_cross_encoder(), "Who built it?", [answer])
    assert clause is None
    assert speak(answer, None) is None


@pytest.mark.parametrize("filling", [" " * 19_000, "x" * 9_000])
def test_sentence_of_few_very_long_words_is_spoken_completely(filling: str) -> None:
    spoken = speak(answer_in(f"It {filling} was built in x Zorn.", "Zorn"), None)
    assert spoken is not None
    assert spoken.endswith(" was built in x Zorn.")


def test_span_is_spoken_with_its_subject() -> None:
    assert speak_span("1731 ", "The mill") == "The mill: 1731."
    assert speak_span("in 1731", "") == "In 1731."
    assert speak_span(",", "") == ","
    assert speak_span("1731", "mill " * 25) == "1731."


@pytest.mark.parametrize(
    ("sentence", "span", "text"),
    [
        ("The begun of Doge's Palace is 1340.", "1340", "Begun: 1340."),
        ("The architects of Doge's Palace is Calendario and Bon.", "Bon", "Architects: Calendario and Bon."),
        (
            "The use of Doge's Palace is " + "a seat of government " * 9 + "and a museum.",
            "museum",
            "Use: museum.",
        ),
        ("Begun 1340", "1340", "Begun 1340."),
    ],
)
def test_attribute_is_spoken_with_key_and_value(sentence: str, span: str, text: str) -> None:
    assert speak_attribute(sentence, span, "Doge's Palace") == text


ADULT, CHILD = "Ticket: Adult; Price: £14.50", "Ticket: Child (5 to 15); Price: £7.20"
FAMILY = "Ticket: Family; Price: £36.00"
TABLE = f"Prices of this year.\n{ADULT}\n{CHILD}\n{FAMILY}\nDogs are free."


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("What does a family ticket cost?", [FAMILY]),
        ("How much do adults pay?", [ADULT]),
        ("Which ticket costs £7.20?", [CHILD]),
        ("What does an adult or a family pay?", [ADULT, CHILD, FAMILY]),
        ("What does a ticket cost?", [ADULT, CHILD, FAMILY]),
        ("Are dogs free?", [ADULT, CHILD, FAMILY]),
    ],
)
def test_rows_not_named_by_the_question_are_hidden(question: str, rows: list[str]) -> None:
    read = with_named_rows(question, TABLE)
    lines = read.split("\n")
    assert [line for line in lines if "Ticket" in line] == rows
    assert (lines[0], lines[-1]) == ("Prices of this year.", "Dogs are free.")
    assert len(read) == len(TABLE)
    assert all(read.find(row) in (-1, TABLE.find(row)) for row in (ADULT, CHILD, FAMILY))


@pytest.mark.parametrize(
    ("question", "facts"),
    [
        ("Which ports does the phone have?", ["Ports: USB-C, jack"]),
        ("When was it released, and at what price?", ["Price: 499 crowns", "Released: May 2024"]),
        (
            "How heavy is it?",
            ["Price: 499 crowns", "Sales price: 450", "Released: May 2024", "Ports: USB-C, jack"],
        ),
    ],
)
def test_facts_with_labels_not_in_the_question_are_hidden(question: str, facts: list[str]) -> None:
    text = "It is sold in shops.\nPrice: 499 crowns\nSales price: 450\nReleased: May 2024\nPorts: USB-C, jack"
    read = with_named_rows(question, text)
    assert [line for line in read.split("\n")[1:] if line.strip()] == facts
    assert all(read.find(fact) == text.find(fact) for fact in facts)


@pytest.mark.parametrize(
    "text", ["", "A; b", "Height: 30 m", "Opened: 1908; Height: 31 m", "a\r\nb; c: d\r\n"]
)
def test_text_without_similar_rows_is_unchanged(text: str) -> None:
    assert with_named_rows("How high is it?", text) == text


@pytest.mark.parametrize(
    ("row", "span", "text"),
    [
        ("Product: Raven teapot; Price (£): 95; Made by: Orla Finch", "£): 95", "Raven teapot, price: £95"),
        ("Tower: North; Height (m): 98; Steps: 312", "98", "North, height: 98 m"),
        ("Programme: Synthetics; Temperature: 40 °C; SIM: no", "no", "Synthetics, SIM: no"),
        ("Product: Raven teapot; Price: £95", "Raven teapot", "Product: Raven teapot"),
        ("Ticket: Adult; Before noon: £5; After noon: £5", "£5", "Adult, after noon: £5"),
        ("City: Linz; Population (2021): 206000", "206000", "Linz, population (2021): 206000"),
        ("City: Linz; Name (Czech): Linec", "Linec", "Linz, name (Czech): Linec"),
        ("Dishwasher safe: no", "no", None),
        ("It opens at nine; tickets cost £5.", "£5", None),
    ],
)
def test_cell_is_spoken_with_its_row_name(row: str, span: str, text: str | None) -> None:
    assert say_cell(row, row.rindex(span) + len(span)) == text
